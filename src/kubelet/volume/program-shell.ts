import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import { quoteShell } from "../../lib/quote-shell.ts";

/** Runs programs, one after the other. */
interface ProgramShell {
  /** Rejects with what the program has printed when it fails. */
  run(program: string, args: readonly string[]): Promise<void>;
}

const runTimeoutMs = 60_000;
/** Between two pods that come after each other it stays. */
const idleMs = 60_000;

/**
 * Programs are forked from a small shell and not from this process: to copy the page tables of a big one takes
 * milliseconds each time, in which nothing else happens here. The shell ends when it has been idle, and when this
 * process ends, however it does: its input ends then.
 */
export function createProgramShell(): ProgramShell {
  let shell: ChildProcessWithoutNullStreams | undefined;
  let idle: NodeJS.Timeout | undefined;
  let last: Promise<void> = Promise.resolve();

  function running(): ChildProcessWithoutNullStreams {
    clearTimeout(idle);
    if (shell && shell.exitCode === null && shell.signalCode === null) return shell;
    const child = spawn("sh", [], { cwd: "/", stdio: ["pipe", "pipe", "pipe"] });
    child.on("error", () => {
      if (shell === child) shell = undefined;
    });
    // Told by its end.
    child.stdin.on("error", () => {});
    shell = child;
    return child;
  }

  function rest(child: ChildProcessWithoutNullStreams): void {
    setHolding(child, false);
    idle = setTimeout(() => {
      child.stdin.end();
      if (shell === child) shell = undefined;
    }, idleMs);
    idle.unref();
  }

  async function next(words: readonly string[]): Promise<void> {
    const child = running();
    setHolding(child, true);
    try {
      await ask(child, words);
    } finally {
      rest(child);
    }
  }

  return {
    run(program, args) {
      const mine = last.then(() => next([program, ...args]));
      last = mine.catch(() => {});
      return mine;
    },
  };
}

function ask(child: ChildProcessWithoutNullStreams, words: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    // What a program prints cannot be taken for its end.
    const mark = randomBytes(8).toString("hex");
    let printed = "";
    const settle = (act: () => void) => {
      clearTimeout(timer);
      child.stdout.off("data", onData);
      child.off("close", onClose);
      child.off("error", onError);
      act();
    };
    const onClose = () => settle(() => reject(new Error(`${words[0]}: its shell has ended`)));
    const onError = (error: Error) => settle(() => reject(error));
    const onData = (chunk: Buffer) => {
      printed += chunk;
      const [, output = "", exitCode] = new RegExp(`^([^]*)${mark} (\\d+)\\n$`).exec(printed) ?? [];
      if (exitCode === undefined) return;
      const message = output.trim() || `${words[0]} ended with exit code ${exitCode}`;
      settle(() => (exitCode === "0" ? resolve() : reject(new Error(message))));
    };
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      settle(() => reject(new Error(`${words[0]} did not end within ${runTimeoutMs / 1_000} s`)));
    }, runTimeoutMs);
    child.stdout.on("data", onData);
    child.on("close", onClose);
    child.on("error", onError);
    child.stdin.write(`${words.map(quoteShell).join(" ")} </dev/null 2>&1; echo "${mark} $?"\n`);
  });
}

/** Whether this process stays for the shell's sake. */
function setHolding(child: ChildProcessWithoutNullStreams, hold: boolean): void {
  for (const part of [child, child.stdin, child.stdout, child.stderr]) {
    if (part !== child && !(part instanceof Socket)) continue;
    if (hold) part.ref();
    else part.unref();
  }
}

import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";
import { quoteShell } from "../../lib/quote-shell.ts";

export interface QuietResult {
  readonly exitCode: number;
  /** Both streams, for a message when it failed. */
  readonly output: string;
}

export interface QuietOptions {
  readonly input?: string;
  /** Beside PATH and LC_ALL. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Then it is killed; unlimited unless told. */
  readonly timeoutMs?: number;
  /** Then too. */
  readonly signal?: AbortSignal;
}

/**
 * Runs a short program to its end. By a small shell, of which a few are kept: a fork copies the page tables of whoever
 * forks, and in a daemon of 250 MB that holds the event loop up for 15 ms at each program, in a shell not for one.
 */
export function runQuietly(
  command: string,
  args: readonly string[],
  { input, env = {}, cwd, timeoutMs, signal }: QuietOptions = {},
): Promise<QuietResult> {
  const place = cwd === undefined ? "" : `cd ${quoteShell(cwd)} && `;
  // The daemon's path of now, not of when the shell began.
  const variables = Object.entries({ PATH: process.env.PATH ?? "", ...env }).map(
    ([name, value]) => `${name}=${quoteShell(value)} `,
  );
  const program = `${place}${variables.join("")}${[command, ...args].map(quoteShell).join(" ")}`;
  const end = unusedWord(input ?? "");
  const stdin = input === undefined ? "</dev/null" : `<<'${end}'\n${input.replace(/\n?$/, "\n")}${end}\n`;
  return runInShell(`${program} 2>&1 ${stdin}`, { timeoutMs, signal });
}

/** As runQuietly, for a piece of shell; nothing in it may read from standard input. */
export async function runInShell(
  script: string,
  limits: Pick<QuietOptions, "timeoutMs" | "signal"> = {},
): Promise<QuietResult> {
  const shell = await takeShell();
  try {
    limits.signal?.throwIfAborted();
    return await askShell(shell, { script, ...limits });
  } finally {
    giveBack(shell);
  }
}

/** One script at a time for each. They end with the daemon, however it ends: their input is then at its end. */
type Shell = ChildProcessByStdio<Writable, Readable, null>;

/** More than that wait in line. */
const mostShells = 16;
const idle: Shell[] = [];
const inLine: ((shell: Shell) => void)[] = [];
let running = 0;

async function takeShell(): Promise<Shell> {
  const free = idle.pop();
  if (free) return free;
  if (running >= mostShells) return new Promise((resolve) => inLine.push(resolve));
  running++;
  return startShell();
}

function giveBack(shell: Shell): void {
  const usable = isUsable(shell) ? shell : undefined;
  const next = inLine.shift();
  if (next) next(usable ?? startShell());
  else if (usable) idle.push(usable);
  else running--;
}

function isUsable(shell: Shell): boolean {
  return (
    shell.stdin.writable && shell.pid !== undefined && shell.exitCode === null && shell.signalCode === null
  );
}

function startShell(): Shell {
  const shell: Shell = spawn("sh", [], {
    // In the root directory, so that it keeps no other file system busy.
    cwd: "/",
    env: { PATH: process.env.PATH, LC_ALL: "C" },
    // A process group of its own, so that a kill reaches what it runs.
    detached: true,
    stdio: ["pipe", "pipe", "ignore"],
  });
  shell.stdout.setEncoding("utf8");
  // Who asked is told by the shell's end.
  shell.stdin.on("error", () => {});
  shell.on("error", () => {});
  shell.once("exit", () => {
    const place = idle.indexOf(shell);
    if (place === -1) return;
    idle.splice(place, 1);
    running--;
  });
  holdOpen(shell, false);
  return shell;
}

/** Whether the daemon waits for it: an idle shell keeps nobody from ending. */
function holdOpen(shell: Shell, held: boolean): void {
  for (const part of [shell, shell.stdin, shell.stdout] as { ref?(): void; unref?(): void }[])
    if (held) part.ref?.();
    else part.unref?.();
}

function askShell(
  shell: Shell,
  { script, timeoutMs, signal }: { script: string; timeoutMs?: number; signal?: AbortSignal },
): Promise<QuietResult> {
  return new Promise((resolve, reject) => {
    let text = "";
    let timer: NodeJS.Timeout | undefined;
    const onData = (chunk: string) => {
      text += chunk;
      if (!text.endsWith("\0")) return;
      const space = text.indexOf(" ");
      settle(() =>
        resolve({ exitCode: Number(text.slice(0, space)), output: text.slice(space + 1, -1).trim() }),
      );
    };
    const onGone = () => settle(() => reject(new Error("the shell that runs programs has ended")));
    const onError = (error: Error) => settle(() => reject(error));
    const kill = () => {
      killGroup(shell);
      shell.stdin.destroy();
    };
    const onAbort = () => {
      kill();
      settle(() => reject(signal?.reason));
    };
    function settle(how: () => void): void {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      shell.stdout.off("data", onData);
      shell.off("close", onGone);
      shell.off("error", onError);
      holdOpen(shell, false);
      how();
    }
    if (timeoutMs !== undefined) {
      timer = setTimeout(() => {
        kill();
        settle(() => resolve({ exitCode: 124, output: `did not end within ${timeoutMs} ms` }));
      }, timeoutMs);
    }
    holdOpen(shell, true);
    signal?.addEventListener("abort", onAbort, { once: true });
    shell.stdout.on("data", onData);
    shell.on("close", onGone);
    shell.on("error", onError);
    shell.stdin.write(`out=$(${script}); printf '%s %.65536s\\0' "$?" "$out"\n`);
  });
}

function killGroup({ pid }: Shell): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has just ended.
  }
}

/** One that is no line of the text. */
function unusedWord(text: string): string {
  let word = "end";
  while (text.includes(word)) word += "-";
  return word;
}

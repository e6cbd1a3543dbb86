import { type ChildProcessByStdio, spawn } from "node:child_process";
import type { Readable, Writable } from "node:stream";

/** Runs a program of the host and returns its output. Rejects with the output when the program fails. */
export async function runProgram(
  program: string,
  args: readonly string[],
  options?: Pick<ProgramOptions, "cwd" | "timeoutMs" | "signal" | "shell">,
): Promise<string> {
  // Newer util-linux passes mount options one by one, at most 256 bytes each; the older system call accepts a whole
  // page.
  const env = { LIBMOUNT_FORCE_MOUNT2: "always" };
  const { exitCode, output } = await tryRunProgram(program, args, { ...options, env });
  if (exitCode !== 0) throw new Error(`${program}: ${output || `failed with ${exitCode}`}`);
  return output;
}

export interface ProgramResult {
  readonly exitCode: number;
  /** Standard output and standard error. */
  readonly output: string;
}

interface ProgramOptions {
  readonly input?: string;
  /** Added to PATH and LC_ALL. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
  /** Time after which the program is killed. Defaults to no limit. */
  readonly timeoutMs?: number;
  /** Kills the program when it aborts. */
  readonly signal?: AbortSignal;
  /**
   * `own` starts a shell for this script alone. For programs that may take minutes: in the pool, sixteen of them would
   * block every other program of the daemon. Defaults to `pooled`.
   */
  readonly shell?: "pooled" | "own";
}

type Limits = Pick<ProgramOptions, "timeoutMs" | "signal" | "shell">;

/**
 * Runs a short program and returns its result, also when it fails. A small pool of shells starts the programs: a fork
 * copies the page tables of the forking process, which blocks the event loop of a daemon of 250 MB for 15 ms per
 * program.
 */
export function tryRunProgram(
  command: string,
  args: readonly string[],
  { input, env = {}, cwd, ...limits }: ProgramOptions = {},
): Promise<ProgramResult> {
  const place = cwd === undefined ? "" : `cd ${quoteShell(cwd)} && `;
  // The daemon's current PATH, not the PATH of when the shell started.
  const variables = Object.entries({ PATH: process.env.PATH ?? "", ...env }).map(
    ([name, value]) => `${name}=${quoteShell(value)} `,
  );
  const program = `${place}${variables.join("")}${[command, ...args].map(quoteShell).join(" ")}`;
  const end = unusedDelimiter(input ?? "");
  const stdin = input === undefined ? "</dev/null" : `<<'${end}'\n${input.replace(/\n?$/, "\n")}${end}\n`;
  return runInShell(`${program} 2>&1 ${stdin}`, limits);
}

/** Runs a shell script like tryRunProgram. Nothing in the script may read standard input. */
export async function runInShell(
  script: string,
  { shell: kind = "pooled", ...limits }: Limits = {},
): Promise<ProgramResult> {
  if (kind === "own") return runInOwnShell(script, limits);
  const shell = await acquireShell();
  try {
    limits.signal?.throwIfAborted();
    return await runScript(shell, { script, ...limits });
  } finally {
    releaseShell(shell);
  }
}

async function runInOwnShell(script: string, limits: Limits): Promise<ProgramResult> {
  limits.signal?.throwIfAborted();
  const shell = startShell();
  try {
    return await runScript(shell, { script, ...limits });
  } finally {
    shell.stdin.end();
  }
}

/** Shell that runs one script at a time. It exits with the daemon, however that ends, because its input then ends. */
type Shell = ChildProcessByStdio<Writable, Readable, null>;

/** Maximum number of pooled shells; further scripts wait. */
const maxShells = 16;
const idle: Shell[] = [];
const waiters: ((shell: Shell) => void)[] = [];
let running = 0;

async function acquireShell(): Promise<Shell> {
  const free = idle.pop();
  if (free) return free;
  if (running >= maxShells) return new Promise((resolve) => waiters.push(resolve));
  running++;
  return startShell();
}

function releaseShell(shell: Shell): void {
  const usable = isUsable(shell) ? shell : undefined;
  const next = waiters.shift();
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
    // A separate process group, so that a kill reaches what it runs.
    detached: true,
    stdio: ["pipe", "pipe", "ignore"],
  });
  shell.stdout.setEncoding("utf8");
  // Callers learn of a failure from the shell's exit.
  shell.stdin.on("error", () => {});
  shell.on("error", () => {});
  shell.once("exit", () => {
    const place = idle.indexOf(shell);
    if (place === -1) return;
    idle.splice(place, 1);
    running--;
  });
  setReferenced(shell, false);
  return shell;
}

/** Sets whether the shell keeps the daemon's event loop alive. An idle shell does not. */
function setReferenced(shell: Shell, held: boolean): void {
  for (const part of [shell, shell.stdin, shell.stdout] as { ref?(): void; unref?(): void }[])
    if (held) part.ref?.();
    else part.unref?.();
}

function runScript(
  shell: Shell,
  { script, timeoutMs, signal }: { script: string; timeoutMs?: number; signal?: AbortSignal },
): Promise<ProgramResult> {
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
    const onGone = () => settle(() => reject(new Error("the shell that runs programs has exited")));
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
      setReferenced(shell, false);
      how();
    }
    if (timeoutMs !== undefined) {
      timer = setTimeout(() => {
        kill();
        settle(() => resolve({ exitCode: 124, output: `did not end within ${timeoutMs} ms` }));
      }, timeoutMs);
    }
    setReferenced(shell, true);
    signal?.addEventListener("abort", onAbort, { once: true });
    shell.stdout.on("data", onData);
    shell.on("close", onGone);
    shell.on("error", onError);
    shell.stdin.write(`out=$(${script}); printf '%s %.65536s\\0' "$?" "$out"\n`);
  });
}

/** Kills the shell with everything that it runs. */
function killGroup({ pid }: Shell): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The process has already exited.
  }
}

/** Returns a here-document delimiter that is not part of the text. */
function unusedDelimiter(text: string): string {
  let word = "end";
  while (text.includes(word)) word += "-";
  return word;
}

/** Quotes a word for a POSIX shell. */
export function quoteShell(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

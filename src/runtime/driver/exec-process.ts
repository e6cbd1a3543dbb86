import { spawn } from "node:child_process";
import type { ExecOptions, ExecProcess } from "./driver.ts";
import { DriverError } from "./driver-error.ts";
import { createTerminalSizer, inTerminal, terminalInput } from "./terminal.ts";

export interface ExecCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: ExecOptions;
  /** Ends what the command started inside the container. */
  readonly killInside: (pid: number) => Promise<void>;
  /** Whether the program inside ever ran: what was said otherwise is the command's own complaint. */
  readonly hasStarted: () => boolean;
  /** What its complaint means. */
  readonly explain: (said: string) => string;
  readonly onEnd: () => void;
  /** Whether the terminal shall show what is typed: not when the command brings another one of its own. */
  readonly echo: "always" | "never";
}

/** How long the end of the outputs is waited for after the program's. */
const drainMs = 250;

/** Runs the command that runs a program inside a container, with a terminal from util-linux' `script` when asked. */
export function spawnExec(exec: ExecCommand): ExecProcess {
  const { command, args, options, killInside, hasStarted, onEnd } = exec;
  const [program, programArgs] = options.terminal
    ? inTerminal([command, ...args], exec.echo)
    : [command, args];
  const child = spawn(program, programArgs, {
    // `script` takes an end of its input for the user's: with a terminal it is given none.
    stdio: [options.stdin || options.terminal ? "pipe" : "ignore", "pipe", "pipe"],
    detached: true,
  });
  const { stdin, stdout, stderr } = child;
  if (!stdout || !stderr) throw new DriverError("failed", `${program} has no output`);
  stdin?.on("error", () => {});

  let lastWords = "";
  const complaints = options.terminal ? stdout : stderr;
  complaints.on("data", (chunk: Buffer) => {
    if (!hasStarted()) lastWords = (lastWords + chunk.toString()).slice(-4096);
  });
  // Listening made it flow; it shall wait for its reader.
  complaints.pause();

  let killed = false;
  const terminalEnded = new AbortController();
  const resize = createTerminalSizer({ findScript: () => child.pid, ended: terminalEnded.signal });
  const ended = new Promise<number>((resolve, reject) => {
    const settle = (code: number | null) => {
      // The program may run some moments before there is a sign of it.
      if (hasStarted() || killed) resolve(code ?? 137);
      else
        reject(
          new DriverError("failed", `exec: ${exec.explain(lastWords) || `${program} ended with ${code}`}`),
        );
    };
    child.once("error", (error) => reject(new DriverError("failed", `${program}: ${error.message}`)));
    child.once("exit", (code) => {
      // The pipes close once they are read; what the program left running may keep them open for ever.
      const drained = setTimeout(settle, drainMs, code);
      child.once("close", () => {
        clearTimeout(drained);
        settle(code);
      });
    });
  }).finally(() => {
    terminalEnded.abort();
    options.signal?.removeEventListener("abort", onAbort);
    onEnd();
  });
  ended.catch(() => {});

  async function kill(): Promise<void> {
    killed = true;
    if (child.pid !== undefined && child.exitCode === null) await killInside(child.pid);
    stdin?.destroy();
    // A process that left its group may still hold the pipes; nobody shall wait for it.
    if (child.exitCode !== null) for (const stream of [stdout, stderr]) stream?.destroy();
    await ended.catch(() => {});
  }
  const onAbort = () => void kill().catch(() => {});
  if (options.signal?.aborted) onAbort();
  else options.signal?.addEventListener("abort", onAbort, { once: true });
  if (options.terminal) stderr.resume();

  return {
    stdin: options.stdin && stdin ? (options.terminal ? terminalInput(stdin) : stdin) : undefined,
    stdout,
    stderr: options.terminal ? undefined : stderr,
    exitCode: ended,
    kill,
    resize: async (columns, rows) => {
      if (options.terminal) await resize(columns, rows);
    },
  };
}

import { spawn } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { Writable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { quoteShell, tryRunProgram } from "../../lib/process/run-program.ts";
import { DriverError, type ExecOptions, type ExecProcess } from "./driver.ts";

/** Command line that runs another one in its own terminal, with util-linux' `script`. */
function inTerminal(words: readonly string[], echo: "always" | "never"): [string, string[]] {
  const line = words.map(quoteShell).join(" ");
  return ["script", ["-q", "-e", "-f", "-E", echo, "-c", `exec ${line}`, "/dev/null"]];
}

/** Input of a terminal, where the end of input is a character; the stream stays open until the program exits. */
export function terminalInput(target: Writable): Writable {
  const endOfInput = Buffer.from([4]);
  return new Writable({
    write: (chunk: Buffer, _encoding, done) => void target.write(chunk, (error) => done(error)),
    final: (done) => void target.write(endOfInput, () => done()),
  });
}

interface TerminalOwner {
  /** Process ID of `script`, once it runs. */
  readonly findScript: () => number | undefined;
  /** Aborts when the terminal or its last viewer is gone. */
  readonly ended: AbortSignal;
}

const pollMs = 10;

/**
 * Sets the size of the terminal that `script` gives its child. Clients send it at once, often before the terminal
 * exists: the latest size is applied when it does.
 */
export function createTerminalSizer({ findScript, ended }: TerminalOwner) {
  let wanted: { columns: number; rows: number } | undefined;
  let sizing: Promise<void> | undefined;

  async function untilSized(): Promise<void> {
    while (wanted && !ended.aborted) {
      const path = terminalPath(findScript());
      if (path === undefined) {
        await delay(pollMs);
        continue;
      }
      const { columns, rows } = wanted;
      wanted = undefined;
      await tryRunProgram("stty", ["-F", path, "cols", String(columns), "rows", String(rows)], {
        timeoutMs: 5000,
      });
    }
  }

  return async (columns: number, rows: number): Promise<void> => {
    wanted = { columns, rows };
    sizing ??= untilSized().finally(() => {
      sizing = undefined;
    });
    await sizing;
  };
}

function terminalPath(scriptPid: number | undefined): string | undefined {
  try {
    const children = readFileSync(`/proc/${scriptPid}/task/${scriptPid}/children`, "utf8").trim().split(" ");
    const path = readlinkSync(`/proc/${children[0]}/fd/0`);
    return path.startsWith("/dev/pts/") ? path : undefined;
  } catch {
    return undefined;
  }
}

interface ExecCommand {
  readonly command: string;
  readonly args: readonly string[];
  readonly options: ExecOptions;
  /** Kills what the command started inside the container. */
  readonly killInside: (pid: number) => Promise<void>;
  /** Whether the program inside has run; until then the output is the command's own error message. */
  readonly hasStarted: () => boolean;
  /** Explains the command's error message. */
  readonly explain: (output: string) => string;
  readonly onEnd: () => void;
  /** Whether the terminal echoes input: not when the command creates its own terminal. */
  readonly echo: "always" | "never";
}

/** Maximum time for the end of the output after the program's exit. */
const drainMs = 250;

/** Runs the command that runs a program inside a container, in a terminal of util-linux' `script` if requested. */
export function spawnExec(exec: ExecCommand): ExecProcess {
  const { command, args, options, killInside, hasStarted, onEnd } = exec;
  const [program, programArgs] = options.terminal
    ? inTerminal([command, ...args], exec.echo)
    : [command, args];
  const child = spawn(program, programArgs, {
    // `script` treats the end of its input as the user's, so with a terminal the input stays open.
    stdio: [options.stdin || options.terminal ? "pipe" : "ignore", "pipe", "pipe"],
    detached: true,
  });
  const { stdin, stdout, stderr } = child;
  if (!stdout || !stderr) throw new DriverError("failed", `${program} has no output`);
  stdin?.on("error", () => {});

  let errorOutput = "";
  const complaints = options.terminal ? stdout : stderr;
  complaints.on("data", (chunk: Buffer) => {
    if (!hasStarted()) errorOutput = (errorOutput + chunk.toString()).slice(-4096);
  });
  // The listener made the stream flow; it has to wait for its reader.
  complaints.pause();

  let killed = false;
  const terminalEnded = new AbortController();
  const resize = createTerminalSizer({ findScript: () => child.pid, ended: terminalEnded.signal });
  const ended = new Promise<number>((resolve, reject) => {
    const settle = (code: number | null) => {
      // The program may run for a moment before it is detected.
      if (hasStarted() || killed) resolve(code ?? 137);
      else
        reject(
          new DriverError("failed", `exec: ${exec.explain(errorOutput) || `${program} ended with ${code}`}`),
        );
    };
    child.once("error", (error) => reject(new DriverError("failed", `${program}: ${error.message}`)));
    child.once("exit", (code) => {
      // The pipes close once they are read; a process left running may keep them open forever.
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
    // A process that left its group may still hold the pipes: they are not awaited.
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

import { spawn } from "node:child_process";
import { runQuietly } from "../process/run-quietly.ts";
import { NetworkError } from "./network-error.ts";

export type ProcessOutcome =
  | { readonly kind: "exited"; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: "timedOut"; readonly stderr: string };

export interface ProcessOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** Whose work a process does: a daemon that comes after a killed one finds it by this (end-leftover-processes). */
export const podVariable = "KINDLING_NETWORK_POD";

/** iptables-save prints megabytes on a machine with thousands of services. */
const maxOutput = 16 << 20;

/**
 * Runs a program to its end, or kills it with whatever it started. A program that cannot be started rejects.
 * Waits for the exit and not for the output's end: a grandchild that keeps a pipe open holds up nobody.
 */
export function runProcess(
  command: string,
  args: readonly string[],
  { input, env, timeoutMs = 10_000 }: ProcessOptions = {},
): Promise<ProcessOutcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH, LC_ALL: "C", ...env },
      // A process group of its own, so that a kill reaches its children.
      detached: true,
      stdio: [input === undefined ? "ignore" : "pipe", "pipe", "pipe"],
    });
    let stdout = "";
    let stderr = "";
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      if (stdout.length < maxOutput) stdout += text;
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      if (stderr.length < maxOutput) stderr += text;
    });
    // A program may end without reading its input.
    child.stdin?.on("error", () => {});
    child.stdin?.end(input);

    const timers: NodeJS.Timeout[] = [];
    function finish(outcome: ProcessOutcome): void {
      for (const timer of timers) clearTimeout(timer);
      child.stdout?.destroy();
      child.stderr?.destroy();
      resolve(outcome);
    }
    const exited = (code: number | null, signal: string | null) =>
      finish({ kind: "exited", exitCode: code ?? -1, stdout, stderr: stderr || (signal ?? "") });

    timers.push(
      setTimeout(() => {
        killGroup(child.pid);
        finish({ kind: "timedOut", stderr });
      }, timeoutMs),
    );
    child.once("close", exited);
    // What it wrote is still on its way: close follows, unless a grandchild keeps the pipes. Not too soon: on a busy
    // machine the timer can come before the output.
    child.once("exit", (code, signal) => timers.push(setTimeout(() => exited(code, signal), 2_000)));
    child.once("error", (error) => {
      for (const timer of timers) clearTimeout(timer);
      reject(new NetworkError("toolFailed", `cannot run ${command}: ${error.message}`, { cause: error }));
    });
  });
}

/** Runs a program that must succeed; answers with what it printed. */
export async function runTool(
  command: string,
  args: readonly string[],
  options?: ProcessOptions,
): Promise<string> {
  const outcome = await runProcess(command, args, options);
  if (outcome.kind === "exited" && outcome.exitCode === 0) return outcome.stdout;
  const why = outcome.kind === "timedOut" ? "did not end in time" : `failed with ${outcome.exitCode}`;
  throw toolFailed([command, ...args], `${why}: ${outcome.stderr.trim()}`, options?.input);
}

/** As runTool, for programs that print nothing: cheaper, see runQuietly. */
export async function runQuietTool(
  command: string,
  args: readonly string[],
  { timeoutMs = 10_000, ...options }: ProcessOptions = {},
): Promise<void> {
  const { exitCode, output } = await runQuietly(command, args, { ...options, timeoutMs });
  if (exitCode !== 0)
    throw toolFailed([command, ...args], `failed with ${exitCode}: ${output}`, options.input);
}

function toolFailed(words: readonly string[], why: string, input: string | undefined): NetworkError {
  return new NetworkError("toolFailed", `${words.join(" ")} ${why}${input ? `\n${input}` : ""}`);
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has just ended.
  }
}

import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { tryRunProgram } from "../../lib/process/run-program.ts";
import { NetworkError } from "./network.ts";

export type ProcessOutcome =
  | { readonly kind: "exited"; readonly exitCode: number; readonly stdout: string; readonly stderr: string }
  | { readonly kind: "timedOut"; readonly stderr: string };

export interface ProcessOptions {
  readonly input?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** Environment variable with the pod that a process works for; a later daemon finds the process by it. */
export const podVariable = "KINDLING_NETWORK_POD";

/** Limit of captured output. iptables-save prints megabytes on a machine with thousands of services. */
const maxOutput = 16 << 20;

/**
 * Runs a program, and kills it with its children at the timeout. Rejects when the program cannot be started. Waits for
 * the exit and not for the end of the output, which a grandchild may keep open.
 */
export function runProcess(
  command: string,
  args: readonly string[],
  { input, env, timeoutMs = 10_000 }: ProcessOptions = {},
): Promise<ProcessOutcome> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, {
      env: { PATH: process.env.PATH, LC_ALL: "C", ...env },
      // A separate process group, so that a kill reaches its children.
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
    // A program may exit without reading its input.
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
    // Remaining output follows with `close`, unless a grandchild keeps the pipes open. The delay is long because on a
    // busy machine the timer can fire before the output arrives.
    child.once("exit", (code, signal) => timers.push(setTimeout(() => exited(code, signal), 2_000)));
    child.once("error", (error) => {
      for (const timer of timers) clearTimeout(timer);
      reject(new NetworkError("toolFailed", `cannot run ${command}: ${error.message}`, { cause: error }));
    });
  });
}

/** Runs a program that must succeed and returns its output. */
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

/** Runs a program that must succeed and prints nothing; cheaper than runTool, see tryRunProgram. */
export async function runQuietTool(
  command: string,
  args: readonly string[],
  { timeoutMs = 10_000, ...options }: ProcessOptions = {},
): Promise<void> {
  const { exitCode, output } = await tryRunProgram(command, args, { ...options, timeoutMs });
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
    // The process has already exited.
  }
}

/**
 * Waits for processes that still work on a pod's network for a daemon or plugin that was killed, and kills those that
 * do not exit: they would continue to create what is about to be removed. They are not killed at once, because
 * host-local leaks an address when it dies between creating its file and writing it. Processes are found by an
 * environment variable, so only our own are affected.
 */
export async function endLeftoverProcesses(podId: string, { graceMs = 2_000 } = {}): Promise<void> {
  const pollMs = 5;
  // After the grace period, a bounded number of attempts: a process that SIGKILL does not end will not exit by waiting.
  for (let waitedMs = 0; waitedMs <= graceMs + 200; waitedMs += pollMs) {
    const pids = await findProcesses(`${podVariable}=${podId}`);
    if (pids.length === 0) return;
    if (waitedMs >= graceMs) for (const pid of pids) killProcess(pid);
    await delay(pollMs);
  }
}

function killProcess(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has already exited.
  }
}

async function findProcesses(variable: string): Promise<number[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 1 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      // Unreadable if the process has exited or is a zombie.
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return environment.split("\0").includes(variable);
    }),
  );
  return pids.filter((_pid, i) => found[i]);
}

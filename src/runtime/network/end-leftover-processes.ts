import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { podVariable } from "./run-process.ts";

/**
 * Waits for what still works on a pod's network on behalf of a daemon that was killed, or of a plugin that was, and
 * kills what does not end: it would go on making what we are about to remove. Not killed at once, because host-local
 * forgets an address for ever when it dies between making its file and writing into it. Found by an environment
 * variable, so nothing but our own is hit.
 */
export async function endLeftoverProcesses(podId: string, { graceMs = 2_000 } = {}): Promise<void> {
  const pollMs = 5;
  // After the grace, a bounded number of attempts: what a kill does not end, waiting does not either.
  for (let waitedMs = 0; waitedMs <= graceMs + 200; waitedMs += pollMs) {
    const pids = await findProcesses(`${podVariable}=${podId}`);
    if (pids.length === 0) return;
    if (waitedMs >= graceMs) for (const pid of pids) kill(pid);
    await delay(pollMs);
  }
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone by itself.
  }
}

async function findProcesses(variable: string): Promise<number[]> {
  const pids = (await readdir("/proc")).map(Number).filter((pid) => pid > 1 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      // Unreadable: it has ended, or is a zombie.
      const environment = await readFile(`/proc/${pid}/environ`, "utf8").catch(() => "");
      return environment.split("\0").includes(variable);
    }),
  );
  return pids.filter((_pid, i) => found[i]);
}

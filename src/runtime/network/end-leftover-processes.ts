import { readdir, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { podVariable } from "./run-process.ts";

/**
 * Kills what still works on a pod's network on behalf of a daemon that was killed, or of a plugin that was: it would
 * go on making what we are about to remove. Found by an environment variable, so nothing but our own is hit.
 */
export async function endLeftoverProcesses(podId: string): Promise<void> {
  for (let round = 0; round < 50; round++) {
    const pids = await findProcesses(`${podVariable}=${podId}`);
    if (pids.length === 0) return;
    for (const pid of pids) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // Gone by itself.
      }
    }
    await delay(2);
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

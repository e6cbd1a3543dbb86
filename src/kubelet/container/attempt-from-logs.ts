import { readdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Pod } from "../../api/objects.ts";
import { containerLogPath, podLogDirectory } from "./pod-paths.ts";

/**
 * The attempt that comes after those whose logs are there. A runtime may have lost its containers with the machine's
 * restart; their logs stay, must not be written over, and tell how often the container was started.
 */
export async function attemptFromLogs(
  { logsDirectory }: { readonly logsDirectory: string },
  pod: Pod,
  containerName: string,
): Promise<number> {
  const directory = dirname(join(podLogDirectory(logsDirectory, pod), containerLogPath(containerName, 0)));
  const names = await readdir(directory).catch(() => []);
  return attemptAfter(names);
}

/** `3.log`, and rotated ones: `3.log.20240101-000000.gz`. */
export function attemptAfter(names: readonly string[]): number {
  const attempts = names.flatMap((name) => /^([0-9]{1,9})\.log(?:\.|$)/.exec(name)?.[1] ?? []);
  return attempts.length === 0 ? 0 : Math.max(...attempts.map(Number)) + 1;
}

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CgroupLayout, cgroupDirs } from "../../../lib/cgroup/cgroup-layout.ts";
import { childrenOf } from "../../../lib/cgroup/remove-cgroup.ts";
import type { Clock } from "../../../lib/clock.ts";
import { sendSignal } from "./process-info.ts";

const SIGKILL = 9;

/** The processes of a cgroup and of those below it, over all hierarchies: half-made ones are in some of them only. */
export function cgroupProcesses(layout: CgroupLayout, cgroup: string): number[] {
  return [...new Set(cgroupDirs(layout, cgroup).flatMap(treeProcesses))];
}

/** The processes of one directory of the cgroup file system, and of those below it. */
export function treeProcesses(dir: string): number[] {
  const own = readLines(join(dir, "cgroup.procs")).map(Number);
  return [...own, ...childrenOf(dir).flatMap((name) => treeProcesses(join(dir, name)))];
}

/** Kills until nobody is left: what forks between two looks is seen by the next. Answers whether that came about. */
export async function killTree(
  processes: () => number[],
  clock: Clock,
  timeoutMs = 10_000,
): Promise<boolean> {
  const deadline = clock.now() + timeoutMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    // 0 stands for a process outside our own PID namespace, which we cannot name.
    const left = processes().filter((pid) => pid > 0 && pid !== process.pid);
    if (left.length === 0) return true;
    for (const pid of left) sendSignal(pid, SIGKILL);
    if (clock.now() > deadline) return false;
    await clock.sleep(pauseMs);
  }
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

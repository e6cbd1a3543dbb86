import { readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../../../lib/clock.ts";
import { type CgroupLayout, cgroupDirs } from "./cgroup-layout.ts";
import { sendSignal } from "./process-info.ts";

const SIGKILL = 9;

/** The processes of a cgroup and of those below it, over all hierarchies: half-made ones are in some of them only. */
export function cgroupProcesses(layout: CgroupLayout, cgroup: string): number[] {
  return [...new Set(cgroupDirs(layout, cgroup).flatMap(treeProcesses))];
}

/** The processes of one directory of the cgroup file system, and of those below it. */
export function treeProcesses(dir: string): number[] {
  const own = readLines(join(dir, "cgroup.procs")).map(Number);
  return [...own, ...subdirectories(dir).flatMap((name) => treeProcesses(join(dir, name)))];
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

/** Removes a cgroup in every hierarchy, children first. Answers with the directories that would not go. */
export async function removeCgroup(layout: CgroupLayout, cgroup: string, clock: Clock): Promise<string[]> {
  const dirs = cgroupDirs(layout, cgroup);
  // A killed process leaves its cgroup a moment after it has left /proc.
  for (let attempt = 0; attempt < 20; attempt++) {
    const left = dirs.filter((dir) => !removeTree(dir));
    if (left.length === 0) return [];
    await clock.sleep(5 * (attempt + 1));
  }
  return dirs.filter((dir) => !removeTree(dir));
}

export function removeTree(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
  }
  const children = subdirectories(dir);
  if (children.length === 0 || !children.every((name) => removeTree(join(dir, name)))) return false;
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

function subdirectories(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, "utf8").split("\n").filter(Boolean);
  } catch {
    return [];
  }
}

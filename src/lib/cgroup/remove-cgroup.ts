import { readdirSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../clock.ts";
import { type CgroupLayout, cgroupDirs } from "./cgroup-layout.ts";

/** Removes a cgroup from every hierarchy, children first. Returns the directories that could not be removed. */
export async function removeCgroup(layout: CgroupLayout, cgroup: string, clock: Clock): Promise<string[]> {
  const dirs = cgroupDirs(layout, cgroup);
  // A killed process leaves its cgroup shortly after it disappears from /proc.
  for (let attempt = 0; attempt < 20; attempt++) {
    const left = dirs.filter((dir) => !removeCgroupTree(dir));
    if (left.length === 0) return [];
    await clock.sleep(5 * (attempt + 1));
  }
  return dirs.filter((dir) => !removeCgroupTree(dir));
}

/** Removes a cgroup directory with its children. Returns false when a process remains in it. */
export function removeCgroupTree(dir: string): boolean {
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
  }
  const children = childrenOf(dir);
  if (children.length === 0 || !children.every((name) => removeCgroupTree(join(dir, name)))) return false;
  try {
    rmdirSync(dir);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "ENOENT";
  }
}

/** Names of the child cgroups. */
export function childrenOf(dir: string): string[] {
  try {
    return readdirSync(dir, { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map((entry) => entry.name);
  } catch {
    return [];
  }
}

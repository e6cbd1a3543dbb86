import { readdirSync, readFileSync, rmdirSync } from "node:fs";
import { join } from "node:path";
import type { Clock } from "../clock.ts";

/** Cgroup hierarchies of this machine. With cgroup v2 only, every controller is in `unified`. */
export interface CgroupLayout {
  readonly kind: "v1" | "hybrid" | "v2" | "none";
  /** Mount points of the v1 hierarchies by controller; named hierarchies as `name=systemd`. */
  readonly v1: Readonly<Record<string, string>>;
  readonly unified: string | undefined;
}

export function detectCgroupLayout(): CgroupLayout {
  return parseCgroupLayout(readFileSync("/proc/self/mountinfo", "utf8"));
}

export function parseCgroupLayout(mountinfo: string): CgroupLayout {
  const v1: Record<string, string> = {};
  let unified: string | undefined;
  for (const line of mountinfo.split("\n")) {
    const [before, after] = line.split(" - ");
    const mountPoint = before?.split(" ")[4];
    const [type, , superOptions] = after?.split(" ") ?? [];
    if (!mountPoint) continue;
    if (type === "cgroup2") unified ??= mountPoint;
    if (type !== "cgroup") continue;
    for (const option of superOptions?.split(",") ?? []) {
      if (controllers.has(option) || option.startsWith("name=")) v1[option] ??= mountPoint;
    }
  }
  const hasV1 = Object.keys(v1).length > 0;
  const kind = hasV1 ? (unified ? "hybrid" : "v1") : unified ? "v2" : "none";
  return { kind, v1, unified };
}

const controllers = new Set([
  "cpu",
  "cpuacct",
  "cpuset",
  "memory",
  "devices",
  "freezer",
  "blkio",
  "pids",
  "net_cls",
  "net_prio",
  "perf_event",
  "hugetlb",
  "rdma",
  "misc",
]);

/** Path of a container's cgroup below every hierarchy. */
export function containerCgroup(parent: string, containerId: string): string {
  return join("/", parent || "kindling", containerId);
}

/** Directory of a cgroup for one controller; undefined when this machine does not have the controller. */
export function controllerDir(layout: CgroupLayout, controller: string, cgroup: string): string | undefined {
  const root = layout.kind === "v2" ? layout.unified : layout.v1[controller];
  return root && join(root, cgroup);
}

/** All directories that the cgroup may have. */
export function cgroupDirs(layout: CgroupLayout, cgroup: string): string[] {
  const roots = new Set([...Object.values(layout.v1), ...(layout.unified ? [layout.unified] : [])]);
  return [...roots].map((root) => join(root, cgroup));
}

/** Converts cgroup v1 CPU shares (2..262144) to a v2 weight (1..10000), like other runtimes. */
export function weightFromShares(shares: number): number {
  const bounded = Math.min(Math.max(shares, 2), 262_144);
  return 1 + Math.floor(((bounded - 2) * 9999) / 262_142);
}

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

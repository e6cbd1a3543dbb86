import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, readlinkSync } from "node:fs";
import { join } from "node:path";
import {
  type CgroupLayout,
  cgroupDirs,
  childrenOf,
  controllerDir,
} from "../../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../../lib/clock.ts";
import { sendSignal, stillRunning } from "./process-info.ts";

const SIGKILL = 9;

/** Processes of a cgroup and its descendants, over all hierarchies: a partly created one is only in some of them. */
export function cgroupProcesses(layout: CgroupLayout, cgroup: string): number[] {
  return [...new Set(cgroupDirs(layout, cgroup).flatMap(treeProcesses))];
}

/** Processes of one directory of the cgroup file system and its descendants. */
export function treeProcesses(dir: string): number[] {
  const own = readLines(join(dir, "cgroup.procs")).map(Number);
  return [...own, ...childrenOf(dir).flatMap((name) => treeProcesses(join(dir, name)))];
}

/** Kills processes until none is left; forks are found by the next pass. Returns false at the timeout. */
export async function killTree(
  processes: () => number[],
  clock: Clock,
  timeoutMs = 10_000,
): Promise<boolean> {
  const deadline = clock.now() + timeoutMs;
  for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
    // 0 stands for a process outside this PID namespace.
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

/** Random ID of this daemon. A process ID would not do: a daemon in a container has the same one each time. */
const daemon = randomBytes(4).toString("hex");
let last = 0;

/** Name for the files and the cgroup of one `exec`. */
export function nextExecName(): string {
  return `exec-${daemon}-${++last}`;
}

export interface ExecCgroup {
  readonly dir: string;
  /** Value for runc's `exec --cgroup`. */
  readonly argument: string;
}

/**
 * Creates a cgroup that contains all processes of one `exec`. One directory is enough: with v1 it is in a hierarchy
 * without limits.
 */
export function makeExecCgroup(layout: CgroupLayout, cgroup: string, name: string): ExecCgroup | undefined {
  const parent = controllerDir(layout, "freezer", cgroup);
  if (!parent) return undefined;
  const dir = join(parent, name);
  try {
    mkdirSync(dir);
    return { dir, argument: layout.kind === "v2" ? name : `freezer:${name}` };
  } catch {
    return undefined;
  }
}

/** Time for outer processes to reap the inner ones. */
const reapingMs = 1_000;

/**
 * Kills all processes of an exec, those inside the container first. The outer processes that wait for them then exit by
 * themselves and have reaped them; killed together, zombies would stay in the container's process list until they are
 * adopted.
 */
export async function killExec(options: {
  /** Process that the daemon started. */
  outermost: number;
  processes: () => number[];
  clock: Clock;
}): Promise<void> {
  const { outermost, processes, clock } = options;
  const inside = () => stillRunning(processes()).filter(isElsewhere);
  if (inside().length > 0) {
    await killTree(inside, clock);
    const deadline = clock.now() + reapingMs;
    while (stillRunning([outermost]).length > 0 && clock.now() < deadline) await clock.sleep(2);
  }
  await killTree(() => stillRunning(processes()), clock);
}

/** Whether the process is in another PID namespace. */
function isElsewhere(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) !== readlinkSync("/proc/self/ns/pid");
  } catch {
    // The process has just exited.
    return false;
  }
}

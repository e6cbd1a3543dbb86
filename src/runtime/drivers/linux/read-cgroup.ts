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
import type { ContainerUsage } from "../driver.ts";
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

interface ExecCgroup {
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

/** Usage of a cgroup; undefined when it does not exist. */
export function readUsage(layout: CgroupLayout, cgroup: string): ContainerUsage | undefined {
  const read = (controller: string, file: string) => {
    const dir = controllerDir(layout, controller, cgroup);
    return dir === undefined ? undefined : readText(join(dir, file));
  };
  return layout.kind === "v2" ? usageV2(read) : usageV1(read);
}

type Read = (controller: string, file: string) => string | undefined;

function usageV1(read: Read): ContainerUsage | undefined {
  const cpuNanos = read("cpuacct", "cpuacct.usage");
  const usage = read("memory", "memory.usage_in_bytes");
  if (cpuNanos === undefined && usage === undefined) return undefined;
  const stat = parseFlatKeyed(read("memory", "memory.stat") ?? "");
  return {
    cpuNanos: Number(cpuNanos ?? 0),
    memoryUsageBytes: Number(usage ?? 0),
    memoryWorkingSetBytes: workingSet(Number(usage ?? 0), stat.get("total_inactive_file")),
    memoryRssBytes: stat.get("total_rss") ?? 0,
    pageFaults: stat.get("total_pgfault") ?? 0,
    majorPageFaults: stat.get("total_pgmajfault") ?? 0,
    pids: Number(read("pids", "pids.current") ?? 0),
  };
}

function usageV2(read: Read): ContainerUsage | undefined {
  const cpu = read("cpu", "cpu.stat");
  if (cpu === undefined) return undefined;
  const usage = Number(read("memory", "memory.current") ?? 0);
  const stat = parseFlatKeyed(read("memory", "memory.stat") ?? "");
  return {
    cpuNanos: (parseFlatKeyed(cpu).get("usage_usec") ?? 0) * 1000,
    memoryUsageBytes: usage,
    memoryWorkingSetBytes: workingSet(usage, stat.get("inactive_file")),
    memoryRssBytes: stat.get("anon") ?? 0,
    pageFaults: stat.get("pgfault") ?? 0,
    majorPageFaults: stat.get("pgmajfault") ?? 0,
    pids: Number(read("pids", "pids.current") ?? 0),
  };
}

/** Working set as in cAdvisor: usage without the file cache that could be dropped at once. */
function workingSet(usage: number, inactiveFile = 0): number {
  return Math.max(0, usage - inactiveFile);
}

/** Number of the cgroup's processes that the kernel killed for lack of memory; undefined when unknown. */
export function readOomKills(layout: CgroupLayout, cgroup: string): number | undefined {
  const dir = controllerDir(layout, "memory", cgroup);
  const file = layout.kind === "v2" ? "memory.events" : "memory.oom_control";
  const text = dir === undefined ? undefined : readText(join(dir, file));
  return text === undefined ? undefined : parseFlatKeyed(text).get("oom_kill");
}

function parseFlatKeyed(text: string): Map<string, number> {
  const lines = text.split("\n").filter(Boolean);
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(" ")), Number(line.slice(line.indexOf(" ")))]),
  );
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined;
  }
}

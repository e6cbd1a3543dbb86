import { readdirSync, readFileSync } from "node:fs";

/** Identity of a process: PIDs are reused, a PID with its start time is not. */
export interface ProcessIdentity {
  readonly pid: number;
  readonly startTicks: number;
  readonly bootId: string;
}

interface ProcessStat {
  readonly state: string;
  readonly parent: number;
  readonly startTicks: number;
}

/** Reads a process's stat. Reads of /proc never wait for a disk, so they are synchronous. */
function readStat(pid: number): ProcessStat | undefined {
  const text = readProc(`/proc/${pid}/stat`);
  if (!text) return undefined;
  // The name may contain spaces and brackets: fields count from the last bracket.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { state: fields[0] ?? "?", parent: Number(fields[1]), startTicks: Number(fields[19]) };
}

export function identify(pid: number): ProcessIdentity | undefined {
  const stat = readStat(pid);
  return stat && { pid, startTicks: stat.startTicks, bootId: bootId() };
}

/** Whether that very process is running; zombies are not. */
export function isAlive(process: ProcessIdentity): boolean {
  const stat = readStat(process.pid);
  if (!stat || stat.state === "Z" || stat.state === "X") return false;
  return stat.startTicks === process.startTicks && process.bootId === bootId();
}

let currentBoot: string | undefined;

export function bootId(): string {
  currentBoot ??= (readProc("/proc/sys/kernel/random/boot_id") ?? "unknown").trim();
  return currentBoot;
}

/** Sends a signal. Returns whether the process exists. */
export function sendSignal(pid: number, signal: number): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ESRCH") return false;
    throw error;
  }
}

/** Processes that have all of these among their arguments. */
export function findProcesses(...wanted: readonly string[]): number[] {
  return allProcesses().filter((pid) => {
    const given = commandLine(pid);
    return wanted.every((argument) => given.includes(argument));
  });
}

export function commandLine(pid: number): string[] {
  const text = readProc(`/proc/${pid}/cmdline`) ?? "";
  return text.replace(/\0$/, "").split("\0");
}

/** Processes that have not exited: zombies cannot be killed. */
export function stillRunning(pids: readonly number[]): number[] {
  return [...new Set(pids)].filter((pid) => {
    const state = readStat(pid)?.state;
    return state !== undefined && state !== "Z" && state !== "X";
  });
}

/** The processes and all their descendants, parents first. */
export function withDescendants(pids: readonly number[]): number[] {
  const children = new Map<number, number[]>();
  for (const pid of allProcesses()) {
    const parent = readStat(pid)?.parent;
    if (parent === undefined) continue;
    children.set(parent, [...(children.get(parent) ?? []), pid]);
  }
  const found = [...pids];
  for (const pid of found) found.push(...(children.get(pid) ?? []));
  return [...new Set(found)];
}

function allProcesses(): number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
}

function readProc(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

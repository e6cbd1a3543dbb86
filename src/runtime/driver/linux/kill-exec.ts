import { readlinkSync } from "node:fs";
import type { Clock } from "../../../lib/clock.ts";
import { killTree } from "./cgroup-tree.ts";
import { stillRunning } from "./process-info.ts";

/** How long those outside have to see the end of those inside. */
const reapingMs = 1_000;

/**
 * Kills all of an exec: what runs inside the container first. Whoever waits for it out here then ends by itself, and has
 * reaped it; killed together, the dead would stay in the container's list of processes until somebody adopts them.
 */
export async function killExec(options: {
  /** The process that we started. */
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

/** Whether it is in a process namespace that is not ours. */
function isElsewhere(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) !== readlinkSync("/proc/self/ns/pid");
  } catch {
    // It has just ended.
    return false;
  }
}

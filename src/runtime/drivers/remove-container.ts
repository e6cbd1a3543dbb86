import { rm } from "node:fs/promises";
import { type CgroupLayout, removeCgroup } from "../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../lib/clock.ts";
import { type ContainerFiles, type MadeRecord, readMade } from "./container-files.ts";
import { DriverError } from "./driver.ts";
import { cgroupProcesses, killTree } from "./linux/cgroup-processes.ts";
import { removeWithMounts } from "./linux/mount-table.ts";
import { findProcesses, isAlive, stillRunning, withDescendants } from "./linux/process-info.ts";

export interface Removal {
  readonly containerId: string;
  readonly files: ContainerFiles;
  readonly cgroup: string;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
  /** Other paths of the container. */
  readonly also: readonly string[];
  /** Processes of the runtime that still work on the container. */
  readonly helpers?: () => number[];
  /** Called when the container's processes have exited, before its cgroup and files are removed. */
  readonly afterKill?: () => Promise<void>;
}

const monitorDelayMs = 2000;

/**
 * Removes a container in any state, without relying on the runtime: its `delete` rejects partly created containers and
 * costs a process. Nothing else that runc's does is needed: there are no hooks, and mounts are removed with their
 * namespace. For other runtimes, `afterKill` calls it too.
 */
export async function removeContainer(removal: Removal): Promise<void> {
  const { containerId, files, cgroup, layout, clock } = removal;
  const made = await readMade(files);
  // Includes processes that are still creating the container, which could otherwise add new processes.
  const own = () =>
    withDescendants([
      ...(made ? containerProcess(made) : findProcesses(files.dir)),
      ...(removal.helpers?.() ?? []),
    ]);
  const members = () => stillRunning([...own(), ...cgroupProcesses(layout, cgroup)]);
  if (!(await killTree(members, clock))) {
    throw new DriverError(
      "failed",
      `processes of container ${containerId} do not die: ${members().join(", ")}`,
    );
  }
  if (made) await untilMonitorExited(made, clock);
  await removal.afterKill?.();
  const stuck = await removeCgroup(layout, cgroup, clock);
  if (stuck.length > 0) {
    throw new DriverError("failed", `cgroups of container ${containerId} stay: ${stuck.join(", ")}`);
  }
  for (const path of removal.also) await removeWithMounts(path);
  await rm(files.exit, { force: true });
  // Removed last: as long as it exists, `list` contains the container and `remove` can be retried.
  await rm(files.dir, { recursive: true, force: true });
  // A concurrent read of the state may have recorded an exit.
  await rm(files.exit, { force: true });
}

function containerProcess(made: MadeRecord): number[] {
  return isAlive(made.container) ? [made.container.pid] : [];
}

/** Waits for the monitor, which writes the exit file after its container's exit and would create it again. */
async function untilMonitorExited({ monitor }: MadeRecord, clock: Clock): Promise<void> {
  const deadline = clock.now() + monitorDelayMs;
  while (isAlive(monitor) && clock.now() < deadline) await clock.sleep(5);
  if (isAlive(monitor)) await killTree(() => (isAlive(monitor) ? withDescendants([monitor.pid]) : []), clock);
}

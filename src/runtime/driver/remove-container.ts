import { rm } from "node:fs/promises";
import type { CgroupLayout } from "../../lib/cgroup/cgroup-layout.ts";
import { removeCgroup } from "../../lib/cgroup/remove-cgroup.ts";
import type { Clock } from "../../lib/clock.ts";
import { type ContainerFiles, type MadeRecord, readMade } from "./container-files.ts";
import { DriverError } from "./driver-error.ts";
import { cgroupProcesses, killTree } from "./linux/cgroup-tree.ts";
import { findProcesses, isAlive, stillRunning, withDescendants } from "./linux/process-info.ts";
import { removeWithMounts } from "./linux/remove-with-mounts.ts";

export interface Removal {
  readonly containerId: string;
  readonly files: ContainerFiles;
  readonly cgroup: string;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
  /** What else is kept of the container. */
  readonly also: readonly string[];
}

const monitorDelayMs = 2000;

/**
 * Removes a container whatever its state, without a runtime's help: its `delete` refuses what is half-made, and costs
 * a process. What it would do besides is nothing we use: there are no hooks, and mounts go with their namespace.
 */
export async function removeContainer(removal: Removal): Promise<void> {
  const { containerId, files, cgroup, layout, clock } = removal;
  const made = await readMade(files);
  // Who is still making it goes too, or it would put new processes where we have looked.
  const own = () => withDescendants(made ? containerProcess(made) : findProcesses(files.dir));
  const members = () => stillRunning([...own(), ...cgroupProcesses(layout, cgroup)]);
  if (!(await killTree(members, clock))) {
    throw new DriverError(
      "failed",
      `processes of container ${containerId} do not die: ${members().join(", ")}`,
    );
  }
  if (made) await monitorGone(made, clock);
  const stuck = await removeCgroup(layout, cgroup, clock);
  if (stuck.length > 0) {
    throw new DriverError("failed", `cgroups of container ${containerId} stay: ${stuck.join(", ")}`);
  }
  for (const path of removal.also) await removeWithMounts(path);
  await rm(files.exit, { force: true });
  // Last: as long as it is there, `list` names the container and `remove` can be tried again.
  await rm(files.dir, { recursive: true, force: true });
  // Who asked for its state meanwhile may have noted that it ended.
  await rm(files.exit, { force: true });
}

function containerProcess(made: MadeRecord): number[] {
  return isAlive(made.container) ? [made.container.pid] : [];
}

/** The monitor writes its exit file once its container is dead; removed before that, the file would come back. */
async function monitorGone({ monitor }: MadeRecord, clock: Clock): Promise<void> {
  const deadline = clock.now() + monitorDelayMs;
  while (isAlive(monitor) && clock.now() < deadline) await clock.sleep(5);
  if (isAlive(monitor)) await killTree(() => (isAlive(monitor) ? withDescendants([monitor.pid]) : []), clock);
}

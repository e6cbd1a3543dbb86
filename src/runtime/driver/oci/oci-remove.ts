import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../../lib/clock.ts";
import type { ContainerFiles } from "../container-files.ts";
import { DriverError } from "../driver-error.ts";
import type { CgroupLayout } from "../linux/cgroup-layout.ts";
import { cgroupProcesses, killTree, removeCgroup } from "../linux/cgroup-tree.ts";
import { findProcesses, readStat, withDescendants } from "../linux/process-info.ts";
import type { OciRuntime } from "./find-oci-runtime.ts";

export interface OciRemoval {
  readonly containerId: string;
  readonly files: ContainerFiles;
  readonly cgroup: string;
  readonly runtime: OciRuntime;
  readonly layout: CgroupLayout;
  readonly clock: Clock;
  /** Whether the container was made to the end: then nobody is still making it. */
  readonly wasMade: boolean;
}

/**
 * Removes a container whatever its state, without the runtime's help: its `delete` refuses what is half-made, and
 * costs a process. What it would do besides is nothing we use: there are no hooks.
 */
export async function removeOciContainer(removal: OciRemoval): Promise<void> {
  const { containerId, files, cgroup, runtime, layout, clock } = removal;
  // Who makes the container goes first, or it would put new processes where we have looked.
  const makers = () => (removal.wasMade ? [] : running(withDescendants(findProcesses(files.dir))));
  const members = () => running([...makers(), ...cgroupProcesses(layout, cgroup)]);
  if (!(await killTree(members, clock))) {
    throw new DriverError("failed", `processes of container ${containerId} do not die: ${members().join(", ")}`);
  }
  await monitorGone(files, clock);
  const stuck = await removeCgroup(layout, cgroup, clock);
  if (stuck.length > 0) throw new DriverError("failed", `cgroups of ${containerId} are stuck: ${stuck.join(", ")}`);
  await rm(join(runtime.root, containerId), { recursive: true, force: true });
  await rm(files.exit, { force: true });
  await rm(files.dir, { recursive: true, force: true });
}

/** The monitor writes its exit file once its container is dead; removed before that, the file would come back. */
async function monitorGone(files: ContainerFiles, clock: Clock): Promise<void> {
  const pidFile = join(files.dir, "conmon.pid");
  if (!existsSync(pidFile)) return;
  const pid = Number(await readFile(pidFile, "utf8"));
  const isMonitor = () => running([pid]).length > 0 && findProcesses(files.dir).includes(pid);
  const deadline = clock.now() + 2000;
  while (isMonitor() && clock.now() < deadline) await clock.sleep(5);
  if (isMonitor()) await killTree(() => running([pid]), clock);
}

function running(pids: readonly number[]): number[] {
  return [...new Set(pids)].filter((pid) => {
    const state = readStat(pid)?.state;
    return state !== undefined && state !== "Z" && state !== "X";
  });
}

import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { type CgroupLayout, removeCgroup } from "../../lib/cgroup/cgroup-layout.ts";
import type { Clock } from "../../lib/clock.ts";
import { type ContainerSpec, DriverError } from "./driver.ts";
import { removeWithMounts } from "./linux/mount-table.ts";
import {
  findProcesses,
  isAlive,
  type ProcessIdentity,
  stillRunning,
  withDescendants,
} from "./linux/process-info.ts";
import { cgroupProcesses, killTree } from "./linux/read-cgroup.ts";

/**
 * State of a driver on disk. `spec.json` is written first and `made.json` last: a directory without the latter was left
 * by a daemon that was killed in `create`. Monitors write `exits/<id>` with one rename.
 */
export interface StateDir {
  readonly root: string;
  readonly exits: string;
  container(containerId: string): ContainerFiles;
  list(): Promise<string[]>;
}

export interface ContainerFiles {
  readonly dir: string;
  readonly spec: string;
  readonly made: string;
  readonly startedAt: string;
  readonly exit: string;
  readonly oom: string;
}

/** Record written when `create` is complete. */
export interface MadeRecord {
  readonly container: ProcessIdentity;
  readonly monitor: ProcessIdentity;
  readonly madeAt: number;
}

export async function openStateDir(root: string): Promise<StateDir> {
  const containers = join(root, "containers");
  const exits = join(root, "exits");
  await mkdir(containers, { recursive: true, mode: 0o711 });
  await mkdir(exits, { recursive: true, mode: 0o700 });
  await removeOrphanedExits(exits, containers);
  return {
    root,
    exits,
    container(containerId) {
      const dir = join(containers, containerId);
      return {
        dir,
        spec: join(dir, "spec.json"),
        made: join(dir, "made.json"),
        startedAt: join(dir, "started-at"),
        exit: join(exits, containerId),
        oom: join(dir, "oom"),
      };
    },
    async list() {
      return (await readdir(containers)).sort();
    },
  };
}

/** Removes exit files of containers whose removal was interrupted. */
async function removeOrphanedExits(exits: string, containers: string): Promise<void> {
  const known = new Set(await readdir(containers));
  for (const name of await readdir(exits))
    if (!known.has(name.replace(/\.new$/, ""))) await rm(join(exits, name), { force: true });
}

export async function readSpec(files: ContainerFiles): Promise<ContainerSpec | undefined> {
  return readJson<ContainerSpec>(files.spec);
}

export async function readMade(files: ContainerFiles): Promise<MadeRecord | undefined> {
  return readJson<MadeRecord>(files.made);
}

async function readJson<T>(path: string): Promise<T | undefined> {
  const text = await readText(path);
  if (text === undefined) return undefined;
  try {
    return JSON.parse(text) as T;
  } catch {
    // Truncated by a power failure: treated as missing.
    return undefined;
  }
}

export async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw error;
  }
}

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

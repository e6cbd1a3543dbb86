import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type CgroupLayout, cgroupDirs, controllerDir } from "../../../lib/cgroup/cgroup-layout.ts";
import type { ContainerSpec } from "../driver.ts";
import { driverFailed } from "../driver-error.ts";
import { applyCgroupWrites, planCgroupWrites } from "../linux/cgroup-writes.ts";

/** Makes a container's cgroup with its limits; answers with the directories its first process has to enter. */
export async function makeCgroup(
  layout: CgroupLayout,
  cgroup: string,
  spec: ContainerSpec,
): Promise<string[]> {
  const dirs = cgroupDirs(layout, cgroup);
  try {
    const writes = planCgroupWrites(layout.kind, spec.resources);
    for (const dir of dirs) await mkdir(dir, { recursive: true });
    if (layout.kind === "v2" && layout.unified) {
      const controllers = new Set([...usualControllers, ...writes.map(({ controller }) => controller)]);
      await enableControllers(layout.unified, { below: dirname(cgroup), controllers });
    }
    const cpuset = layout.v1.cpuset;
    if (cpuset) await inheritCpuset(cpuset, cgroup);
    await restrictDevices(layout, cgroup, spec);
    const refused = await applyCgroupWrites(layout, cgroup, writes);
    if (refused.length > 0) throw new Error(refused.join("; "));
    return dirs;
  } catch (error) {
    throw driverFailed(`cgroup of container ${spec.id}`, error);
  }
}

/** What is measured, and limited later perhaps, where nothing is limited yet. */
const usualControllers = ["cpu", "memory", "pids", "cpuset"];

/** With v2 a limit works only where every directory above hands its controller down. */
async function enableControllers(
  root: string,
  { below, controllers }: { below: string; controllers: ReadonlySet<string> },
): Promise<void> {
  let dir = root;
  for (const name of ["", ...below.split("/").filter(Boolean)]) {
    dir = join(dir, name);
    for (const controller of controllers) {
      await writeFile(join(dir, "cgroup.subtree_control"), `+${controller}`).catch(() => {});
    }
  }
}

/** A v1 cpuset takes no process before it has processors and memory nodes: those of the one above. */
async function inheritCpuset(root: string, cgroup: string): Promise<void> {
  let above = root;
  for (const name of cgroup.split("/").filter(Boolean)) {
    const dir = join(above, name);
    for (const file of ["cpuset.cpus", "cpuset.mems"]) {
      const current = (await readFile(join(dir, file), "utf8")).trim();
      if (current === "") await writeFile(join(dir, file), await readFile(join(above, file), "utf8"));
    }
    above = dir;
  }
}

/** What every container may use: making nodes, null, zero, full, random, urandom, tty, ptmx and the terminals. */
const commonDevices = ["c *:* m", "b *:* m", "c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm"];
const terminals = ["c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm"];

async function restrictDevices(layout: CgroupLayout, cgroup: string, spec: ContainerSpec): Promise<void> {
  const dir = layout.kind === "v2" ? undefined : controllerDir(layout, "devices", cgroup);
  // Devices asked for are not told apart here: who asks for one gets no restriction.
  if (!dir || spec.security.privileged || spec.devices.length > 0) return;
  await writeFile(join(dir, "devices.deny"), "a");
  for (const rule of [...commonDevices, ...terminals]) await writeFile(join(dir, "devices.allow"), rule);
}

import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type CgroupLayout,
  cgroupDirs,
  controllerDir,
  weightFromShares,
} from "../../../lib/cgroup/cgroup-layout.ts";
import { type ContainerSpec, driverFailed, type LinuxResources } from "../driver.ts";

export interface CgroupWrite {
  readonly controller: string;
  readonly file: string;
  readonly value: string;
  /** Set for files that kernels without this kind of accounting lack; the other limits still apply. */
  readonly optional?: true;
}

/** Plans the files to write for a set of limits. Zero means no limit is requested; -1 removes one. */
export function planCgroupWrites(kind: CgroupLayout["kind"], resources: LinuxResources): CgroupWrite[] {
  return kind === "v2" ? planV2(resources) : planV1(resources);
}

function planV1(want: LinuxResources): CgroupWrite[] {
  const swap = want.memorySwapLimitBytes || want.memoryLimitBytes;
  const rows = given([
    ["cpu", "cpu.shares", want.cpuShares],
    ["cpu", "cpu.cfs_period_us", want.cpuPeriod],
    ["cpu", "cpu.cfs_quota_us", want.cpuQuota],
    ["cpuset", "cpuset.cpus", want.cpusetCpus],
    ["cpuset", "cpuset.mems", want.cpusetMems],
    ["memory", "memory.limit_in_bytes", want.memoryLimitBytes],
    ["pids", "pids.max", want.pidsLimit && (want.pidsLimit < 0 ? "max" : want.pidsLimit)],
  ]);
  return [
    ...rows,
    ...(swap ? [optional("memory.memsw.limit_in_bytes", swap)] : []),
    ...hugepageWrites(want, "limit_in_bytes"),
  ];
}

function optional(file: string, value: number): CgroupWrite {
  return { controller: file.slice(0, file.indexOf(".")), file, value: String(value), optional: true };
}

function hugepageWrites({ hugepageLimits = [] }: LinuxResources, file: string): CgroupWrite[] {
  return hugepageLimits.map(({ pageSize, limitBytes }) =>
    optional(`hugetlb.${pageSize}.${file}`, limitBytes),
  );
}

function planV2(want: LinuxResources): CgroupWrite[] {
  const memory = want.memoryLimitBytes;
  const swap = memory && memory > 0 ? Math.max(0, (want.memorySwapLimitBytes || memory) - memory) : undefined;
  const quota = want.cpuQuota && (want.cpuQuota < 0 ? "max" : want.cpuQuota);
  return [
    ...given([
      ["cpu", "cpu.weight", want.cpuShares && weightFromShares(want.cpuShares)],
      ["cpu", "cpu.max", quota && `${quota} ${want.cpuPeriod || 100_000}`],
      ["cpuset", "cpuset.cpus", want.cpusetCpus],
      ["cpuset", "cpuset.mems", want.cpusetMems],
      ["memory", "memory.max", memory && (memory < 0 ? "max" : memory)],
      ["pids", "pids.max", want.pidsLimit && (want.pidsLimit < 0 ? "max" : want.pidsLimit)],
    ]),
    // Zero is a value here: no swap.
    ...(swap === undefined ? [] : [optional("memory.swap.max", swap)]),
    ...hugepageWrites(want, "max"),
    ...Object.entries(want.unified ?? {}).map(([file, value]) => ({
      controller: file.slice(0, file.indexOf(".")),
      file,
      value,
    })),
  ];
}

function given(rows: [string, string, string | number | undefined][]): CgroupWrite[] {
  return rows.flatMap(([controller, file, value]) =>
    value ? [{ controller, file, value: String(value) }] : [],
  );
}

/** Writes the files. Returns descriptions of those that the kernel rejected. */
export async function applyCgroupWrites(
  layout: CgroupLayout,
  cgroup: string,
  writes: readonly CgroupWrite[],
): Promise<string[]> {
  const failed = await attempt(layout, cgroup, writes);
  // Memory may never exceed memory with swap: raising both requires the opposite order of lowering both.
  const again =
    failed.length > 0 ? await attempt(layout, cgroup, failed.map(({ write }) => write).reverse()) : [];
  const stillFailed =
    again.length > 0
      ? await attempt(
          layout,
          cgroup,
          again.map(({ write }) => write),
        )
      : [];
  return stillFailed.map(({ write, reason }) => `${write.file}=${write.value}: ${reason}`);
}

async function attempt(layout: CgroupLayout, cgroup: string, writes: readonly CgroupWrite[]) {
  const failed: { write: CgroupWrite; reason: string }[] = [];
  for (const write of writes) {
    const dir = controllerDir(layout, write.controller, cgroup);
    if (dir === undefined) {
      if (!write.optional) failed.push({ write, reason: `no ${write.controller} controller` });
      continue;
    }
    try {
      await writeFile(join(dir, write.file), write.value, { flag: "r+" });
    } catch (error) {
      const code = (error as NodeJS.ErrnoException).code;
      if (code === "ENOENT" && write.optional) continue;
      failed.push({ write, reason: code ?? String(error) });
    }
  }
  return failed;
}

/** Creates a container's cgroup with its limits. Returns the directories that its first process has to enter. */
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

/** Controllers that are enabled without limits too, for usage figures and later limits. */
const usualControllers = ["cpu", "memory", "pids", "cpuset"];

/** Enables controllers. With v2 a limit works only if every directory above delegates its controller. */
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

/** Copies processors and memory nodes from the parent: a v1 cpuset accepts no process without them. */
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

/** Devices of every container: mknod, null, zero, full, random, urandom, tty, ptmx and terminals. */
const commonDevices = ["c *:* m", "b *:* m", "c 1:3 rwm", "c 1:5 rwm", "c 1:7 rwm", "c 1:8 rwm", "c 1:9 rwm"];
const terminals = ["c 5:0 rwm", "c 5:2 rwm", "c 136:* rwm"];

async function restrictDevices(layout: CgroupLayout, cgroup: string, spec: ContainerSpec): Promise<void> {
  const dir = layout.kind === "v2" ? undefined : controllerDir(layout, "devices", cgroup);
  // Requested devices are not distinguished here: a container that requests any has no restriction.
  if (!dir || spec.security.privileged || spec.devices.length > 0) return;
  await writeFile(join(dir, "devices.deny"), "a");
  for (const rule of [...commonDevices, ...terminals]) await writeFile(join(dir, "devices.allow"), rule);
}

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type CgroupLayout, controllerDir } from "../../../lib/cgroup/cgroup-layout.ts";
import { weightFromShares } from "../../../lib/cgroup/weight-from-shares.ts";
import type { LinuxResources } from "../driver.ts";

export interface CgroupWrite {
  readonly controller: string;
  readonly file: string;
  readonly value: string;
  /** Kernels without this kind of accounting lack the file; the other limits still hold. */
  readonly optional?: true;
}

/** Which files a set of limits becomes. A limit of zero means none was asked for; -1 lifts one. */
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
    // Zero is a real value here: no swap at all.
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

/** Writes the files; answers with what this machine would not take, in words. */
export async function applyCgroupWrites(
  layout: CgroupLayout,
  cgroup: string,
  writes: readonly CgroupWrite[],
): Promise<string[]> {
  const failed = await attempt(layout, cgroup, writes);
  // Memory may not exceed memory with swap at any moment: raising both needs the opposite order of lowering both.
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

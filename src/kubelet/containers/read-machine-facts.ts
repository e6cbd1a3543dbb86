import { access, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { hugePageSizeName } from "../cgroups/linux-resources.ts";
import type { MachineFacts } from "../model/node-facts.ts";

/** Reads facts about the machine. `root` is the parent of /sys and /proc. */
export async function readMachineFacts(root = "/"): Promise<MachineFacts> {
  const sys = join(root, "sys");
  const unified = await exists(join(sys, "fs/cgroup/cgroup.controllers"));
  const swapFile = unified
    ? join(await ownCgroup(root), "memory.swap.max")
    : "memory/memory.memsw.limit_in_bytes";
  const [limitsSwap, selinux, hugePages, cpus] = await Promise.all([
    exists(join(sys, "fs/cgroup", swapFile)),
    exists(join(sys, "fs/selinux/enforce")),
    list(join(sys, "kernel/mm/hugepages")),
    list(join(sys, "devices/system/cpu")),
  ]);
  const thermal = cpus
    .filter((name) => /^cpu[0-9]+$/.test(name))
    .sort((a, b) => Number(a.slice(3)) - Number(b.slice(3)))
    .map((name) => `devices/system/cpu/${name}/thermal_throttle`);
  const present = await Promise.all(thermal.map((path) => exists(join(sys, path))));
  return {
    cgroupVersion: unified ? 2 : 1,
    limitsSwap,
    selinux,
    hugePageSizes: hugePages.flatMap((name) => {
      const [, kib] = /^hugepages-([0-9]+)kB$/.exec(name) ?? [];
      return kib ? [hugePageSizeName(Number(kib) * 1_024)] : [];
    }),
    thermalPaths: thermal.filter((_, index) => present[index]).map((path) => `/sys/${path}`),
  };
}

/** Cgroup of this process: memory.swap.max does not exist in the root cgroup. */
async function ownCgroup(root: string): Promise<string> {
  const text = await readFile(join(root, "proc/self/cgroup"), "utf8").catch(() => "");
  return /^0::(.*)$/m.exec(text)?.[1] ?? "/";
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

function list(path: string): Promise<string[]> {
  return readdir(path).catch(() => []);
}

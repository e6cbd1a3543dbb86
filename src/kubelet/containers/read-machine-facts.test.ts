import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readMachineFacts } from "./read-machine-facts.ts";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "machine-"));
});

afterEach(() => rm(root, { recursive: true, force: true }));

async function put(path: string, text = "") {
  await mkdir(dirname(join(root, path)), { recursive: true });
  await writeFile(join(root, path), text);
}

test("a machine with cgroup v2", async () => {
  await put("proc/self/cgroup", "0::/system.slice/k.service\n");
  await put("sys/fs/cgroup/cgroup.controllers");
  await put("sys/fs/cgroup/system.slice/k.service/memory.swap.max");
  await put("sys/fs/selinux/enforce");
  await put("sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages");
  await put("sys/kernel/mm/hugepages/hugepages-1048576kB/nr_hugepages");
  for (const cpu of ["cpu10", "cpu2"]) {
    await put(`sys/devices/system/cpu/${cpu}/thermal_throttle/core_throttle_count`);
  }
  await put("sys/devices/system/cpu/cpu0/topology/core_id");
  await put("sys/devices/system/cpu/cpufreq/boost");
  const facts = await readMachineFacts(root);
  expect({ ...facts, hugePageSizes: [...facts.hugePageSizes].sort() }).toEqual({
    cgroupVersion: 2,
    limitsSwap: true,
    selinux: true,
    hugePageSizes: ["1GB", "2MB"],
    thermalPaths: [
      "/sys/devices/system/cpu/cpu2/thermal_throttle",
      "/sys/devices/system/cpu/cpu10/thermal_throttle",
    ],
  });
});

test("a bare machine with cgroup v1", async () => {
  const facts = { cgroupVersion: 1, selinux: false, hugePageSizes: [], thermalPaths: [] };
  expect(await readMachineFacts(root)).toEqual({ ...facts, limitsSwap: false });
  await put("sys/fs/cgroup/memory/memory.memsw.limit_in_bytes");
  expect(await readMachineFacts(root)).toEqual({ ...facts, limitsSwap: true });
});

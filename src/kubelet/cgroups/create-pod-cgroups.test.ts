import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Pod } from "../../api/meta/objects.ts";
import { parseCgroupLayout } from "../../lib/cgroup/cgroup-layout.ts";
import { createLogger } from "../../lib/logger.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { createPodCgroups, type PodCgroupsOptions } from "./create-pod-cgroups.ts";
import { defaultCpuSettings } from "./linux-resources.ts";

let folder: string;
const lines: string[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-cgroups-"));
  lines.length = 0;
});
afterEach(() => rm(folder, { recursive: true, force: true }));

/** Plain directories: what is written stays to be read. */
async function open(version: 1 | 2, pods: readonly Pod[], driver: "cgroupfs" | "systemd" = "cgroupfs") {
  const line = (name: string, type: string) =>
    `30 24 0:26 / ${join(folder, name)} rw - ${type} ${type} rw,${name || "x"}`;
  const mounts = version === 2 ? [line("", "cgroup2")] : [line("cpu", "cgroup"), line("memory", "cgroup")];
  if (version === 1)
    for (const name of ["cpu", "memory"]) await mkdir(join(folder, name), { recursive: true });
  return createWith({
    settings: { driver, root: "/own/n1" },
    pods: () => pods,
    layout: parseCgroupLayout(mounts.join("\n")),
  });
}

function createWith(options: Partial<PodCgroupsOptions>) {
  return createPodCgroups({
    settings: { driver: "cgroupfs", root: "/own" },
    ownRoot: true,
    cpu: defaultCpuSettings,
    cpus: 4,
    pods: () => [],
    clock: createManualClock(),
    logger: createLogger({
      format: "text",
      level: "warn",
      destination: { write: (text: string) => lines.push(text) },
    }),
    ...options,
  });
}

const read = (...path: string[]) => readFile(join(folder, ...path), "utf8");
const asking = (cpu: string) =>
  makePod({ containers: [{ name: "c", resources: { requests: { cpu }, limits: { memory: "64Mi" } } }] });

test("cgroup v1: creates the pod's cgroup below its class, with shares", async () => {
  const pod = asking("250m");
  const cgroups = await open(1, [pod, asking("250m")]);
  expect(await cgroups.parentOf(pod)).toBe("/own/n1/kubepods/burstable/podu-1");
  expect(await read("cpu/own/cpu.shares")).toBe("4096");
  expect(await read("cpu/own/n1/kubepods/cpu.shares")).toBe("4096");
  expect(await read("cpu/own/n1/kubepods/burstable/cpu.shares")).toBe("512");
  expect(await read("cpu/own/n1/kubepods/burstable/podu-1/cpu.shares")).toBe("256");
  expect(await read("memory/own/n1/kubepods/burstable/podu-1/memory.limit_in_bytes")).toBe("67108864");
  expect(await readdir(join(folder, "memory/own/n1/kubepods"))).toContain("burstable");
});

test("cgroup v2: enables the controllers in every parent", async () => {
  const cgroups = await open(2, []);
  expect(await cgroups.parentOf(makePod())).toBe("/own/n1/kubepods/besteffort/podu-1");
  for (const path of ["", "own", "own/n1", "own/n1/kubepods", "own/n1/kubepods/besteffort"]) {
    expect(await read(path, "cgroup.subtree_control")).toBe("+cpu +memory");
  }
  expect(await read("own/n1/kubepods/besteffort/cpu.weight")).toBe("1");
  expect(await read("own/n1/kubepods/besteffort/podu-1/cpu.weight")).toBe("1");
});

test.each([
  // A file where the hierarchy should be: nothing can be made below it.
  {
    where: "cgroups cannot be created",
    layout: { kind: "v2", v1: {}, unified: "/proc/version" } as const,
    said: "failed to create cgroups for pods",
  },
  {
    where: "a controller is missing",
    layout: parseCgroupLayout("30 24 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu"),
    said: "the cpu and memory controllers are not available",
  },
])("leaves cgroups to the runtime with one warning when $where", async ({ layout, said }) => {
  const cgroups = await createWith({ layout });
  expect(await cgroups.parentOf(makePod())).toBe("");
  await cgroups.remove("u-1");
  expect(lines.filter((text) => text.includes(said))).toHaveLength(1);
});

test("creates no directories with the systemd driver", async () => {
  const cgroups = await open(1, [], "systemd");
  expect(await cgroups.parentOf(makePod())).toBe(
    "/own.slice/own-n1.slice/own-n1-kubepods.slice/own-n1-kubepods-besteffort.slice/own-n1-kubepods-besteffort-podu_1.slice",
  );
  expect(await readdir(join(folder, "cpu"))).toEqual([]);
});

test.each([
  [true, []],
  [false, ["podunknown"]],
])("sweeps cgroups of unknown pods only below its own root (%s)", async (ownRoot, left) => {
  const line = `30 24 0:26 / ${folder} rw - cgroup2 cgroup2 rw`;
  const layout = parseCgroupLayout(line);
  const cgroups = await createWith({ layout, ownRoot });
  const besteffort = join(folder, "own/kubepods/besteffort");
  await mkdir(join(besteffort, "podunknown"), { recursive: true });
  await cgroups.sweep(() => false);
  expect(await readdir(besteffort)).toEqual(left);
});

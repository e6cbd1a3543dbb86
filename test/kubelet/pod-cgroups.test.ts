import { accessSync, constants, existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { Pod } from "../../src/api/meta/objects.ts";
import { cgroupDirs, controllerDir, detectCgroupLayout } from "../../src/lib/cgroup/cgroup-layout.ts";
import { describeEachDriver } from "../support/cri/cri-drivers.ts";
import { containerIdOf, shell, untilTold, useRuntimeNode } from "../support/node/runtime-node.ts";
import { isReady } from "../support/node/simulated-node.ts";
import { describeWithTool } from "../support/programs/tools.ts";

const layout = detectCgroupLayout();
const version = layout.kind === "v2" ? 2 : 1;
const cpu = controllerDir(layout, "cpu", "/") ?? "";
const memory = controllerDir(layout, "memory", "/") ?? "";

function canMakeCgroups(): boolean {
  try {
    accessSync(memory || "/nowhere", constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

describe.skipIf(!canMakeCgroups())("cgroups of pods (skipped where none can be made)", () => {
  describeWithTool("busybox", "and busybox", () => describeEachDriver(suite));
});

function suite(driver: "host" | "oci"): void {
  const host = useRuntimeNode({ driver });

  /** The kubelets' own cgroups below /kindling that have one for this pod, and where it is in there. */
  async function cgroupOf(pod: Pod, className: string): Promise<string | undefined> {
    const below = join("kubepods", className, `pod${pod.metadata.uid}`);
    const kubelets = await readdir(join(memory, "kindling")).catch(() => []);
    const found = kubelets.find((name) => existsSync(join(memory, "kindling", name, below)));
    return found && join("/kindling", found, below);
  }
  const read = async (root: string, cgroup: string, file: string) =>
    (await readFile(join(root, cgroup, file), "utf8")).trim();
  const sharesFile = version === 2 ? "cpu.weight" : "cpu.shares";

  async function start(name: string, resources: object): Promise<Pod> {
    await host.node.run(name, { containers: [shell(untilTold, { resources })] });
    return host.node.until(name, isReady);
  }

  test("each pod has one below that of its class, with its limits, and its containers are in it", async () => {
    const limits = { cpu: "500m", memory: "64Mi" };
    const [fixed, some, none] = await Promise.all([
      start("fixed", { limits, requests: limits }),
      start("some", { requests: { cpu: "250m" }, limits: { memory: "32Mi" } }),
      start("none", {}),
    ]);
    const ofFixed = (await cgroupOf(fixed, "")) ?? "";
    const ofSome = (await cgroupOf(some, "burstable")) ?? "";
    const ofNone = (await cgroupOf(none, "besteffort")) ?? "";
    for (const [pod, cgroup] of [
      [fixed, ofFixed],
      [some, ofSome],
      [none, ofNone],
    ] as const) {
      expect(cgroup).toContain(`pod${pod.metadata.uid}`);
      expect(await read(memory, join(cgroup, containerIdOf(pod)), "cgroup.procs")).not.toBe("");
    }
    const memoryFile = version === 2 ? "memory.max" : "memory.limit_in_bytes";
    expect(await read(memory, ofFixed, memoryFile)).toBe(String(64 * 1_024 ** 2));
    expect(await read(memory, ofSome, memoryFile)).toBe(String(32 * 1_024 ** 2));
    const quota = version === 2 ? "50000 100000" : "50000";
    expect(await read(cpu, ofFixed, version === 2 ? "cpu.max" : "cpu.cfs_quota_us")).toBe(quota);
    expect(await read(cpu, ofFixed, sharesFile)).toBe(version === 2 ? "20" : "512");
    expect(await read(cpu, ofSome, sharesFile)).toBe(version === 2 ? "10" : "256");
    expect(await read(cpu, ofNone, sharesFile)).toBe(version === 2 ? "1" : "2");
    // The class weighs what its pods ask for.
    expect(await read(cpu, join(ofSome, ".."), sharesFile)).toBe(version === 2 ? "10" : "256");

    for (const name of ["fixed", "some", "none"]) {
      await host.node.client.delete("pods", { namespace: "default", name });
      await host.node.untilGone(name);
    }
    for (const cgroup of [ofFixed, ofSome, ofNone]) {
      expect(cgroupDirs(layout, cgroup).filter(existsSync)).toEqual([]);
    }
  });

  test("a container that exceeds its memory limit is OOMKilled, and another pod keeps running", async () => {
    const calm = await start("calm", { limits: { memory: "32Mi" } });
    await host.node.run("greedy", {
      restartPolicy: "Never",
      containers: [
        shell("exec dd if=/dev/zero of=/dev/null bs=64M count=1", {
          resources: { limits: { memory: "16Mi" } },
        }),
      ],
    });
    const greedy = await host.node.until("greedy", ({ status }) => status?.phase === "Failed");
    expect(greedy.status?.containerStatuses?.[0]?.state?.terminated).toMatchObject({
      exitCode: 137,
      reason: "OOMKilled",
    });
    expect(containerIdOf(await host.node.until("calm", isReady))).toBe(containerIdOf(calm));
  });

  test("a restarted kubelet finds the cgroups and removes those of pods that were deleted while it was stopped", async () => {
    const pod = await start("left", {});
    const cgroup = (await cgroupOf(pod, "besteffort")) ?? "";
    await host.node.stop();
    await host.node.client.delete("pods", { namespace: "default", name: "left" }, { gracePeriodSeconds: 0 });
    await host.node.start();
    await expect.poll(() => cgroupDirs(layout, cgroup).filter(existsSync)).toEqual([]);
  });
}

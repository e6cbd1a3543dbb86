import { describe, expect, test } from "vitest";
import type { PodSpec } from "../../api/meta/objects.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { defaultCpuSettings as cpu } from "./linux-resources.ts";
import { burstableLimits, cgroupParent, cgroupWrites, podLimits } from "./pod-cgroup.ts";

describe("cgroup-parent", () => {
  const fixed = [{ name: "c", resources: { limits: { cpu: "1", memory: "1Gi" } } }];

  test.each([
    ["cgroupfs", "/", {}, "/kubepods/besteffort/podu-1"],
    ["cgroupfs", "/outer", { containers: fixed }, "/outer/kubepods/podu-1"],
    ["systemd", "/", {}, "/kubepods.slice/kubepods-besteffort.slice/kubepods-besteffort-podu_1.slice"],
    ["systemd", "/", { containers: fixed }, "/kubepods.slice/kubepods-podu_1.slice"],
  ] as const)("%s under %s", (driver, root, spec, parent) => {
    const containers = "containers" in spec ? [...spec.containers] : [{ name: "c" }];
    expect(cgroupParent(makePod({ containers }), { driver, root })).toBe(parent);
  });
});

describe("pod-limits", () => {
  const container = (name: string, limits?: Record<string, string>, requests?: Record<string, string>) => ({
    name,
    resources: { ...(limits && { limits }), ...(requests && { requests }) },
  });
  const full = { cpu: "500m", memory: "64Mi" };
  const mebi = 1_024 * 1_024;

  describe("podLimits", () => {
    test.each<[string, Partial<PodSpec>, object]>([
      ["no security context", { containers: [container("a")] }, { cpuShares: 2 }],
      [
        "all limited",
        { containers: [container("a", full), container("b", full)] },
        { cpuShares: 1_024, cpuQuotaUs: 100_000, memoryBytes: 128 * mebi },
      ],
      [
        "a container without a memory limit",
        { containers: [container("a", full), container("b", { cpu: "1" })] },
        { cpuShares: 1_536, cpuQuotaUs: 150_000 },
      ],
      ["requests alone", { containers: [container("a", undefined, { cpu: "250m" })] }, { cpuShares: 256 }],
      [
        "an init container without limits",
        { containers: [container("a", full)], initContainers: [container("i")] },
        { cpuShares: 512 },
      ],
      [
        "an init container that needs more than all others",
        { containers: [container("a", full)], initContainers: [container("i", { cpu: "2", memory: "1Gi" })] },
        { cpuShares: 2_048, cpuQuotaUs: 200_000, memoryBytes: 1_024 * mebi },
      ],
      [
        "a limit of the pod, none of its containers",
        { containers: [container("a"), container("b")], resources: { limits: { memory: "96Mi" } } },
        { memoryBytes: 96 * mebi },
      ],
      [
        "what the sandbox itself takes",
        { containers: [container("a", full)], overhead: { cpu: "100m", memory: "16Mi" } },
        { cpuShares: 614, cpuQuotaUs: 60_000, memoryBytes: 80 * mebi },
      ],
    ])("%s", (_, spec, expected) => {
      const limits = podLimits(makePod(spec), cpu);
      expect(limits).toMatchObject(expected);
      expect(Object.keys(limits)).toHaveLength(new Set([...Object.keys(expected), "cpuShares"]).size);
    });

    test("quotas that are not enforced", () => {
      const pod = makePod({ containers: [container("a", full)] });
      expect(podLimits(pod, { ...cpu, enforceQuota: false })).toEqual({
        cpuShares: 512,
        memoryBytes: 64 * mebi,
      });
    });
  });

  test("Burstable pods have shares by their requests", () => {
    const some = makePod({ containers: [container("a", undefined, { cpu: "250m" })] });
    const fixed = makePod({ containers: [container("a", full)] });
    expect(burstableLimits([some, some, fixed, makePod()])).toEqual({ cpuShares: 512 });
    expect(burstableLimits([])).toEqual({ cpuShares: 2 });
  });

  describe("cgroupWrites", () => {
    const limits = { cpuShares: 1_024, cpuQuotaUs: 50_000, memoryBytes: 7 };
    const lines = (version: 1 | 2, some: Parameters<typeof cgroupWrites>[1]) =>
      cgroupWrites(version, some, cpu).map(({ controller, file, value }) => `${controller}/${file}=${value}`);

    test("version 1", () => {
      expect(lines(1, limits)).toEqual([
        "cpu/cpu.shares=1024",
        "cpu/cpu.cfs_period_us=100000",
        "cpu/cpu.cfs_quota_us=50000",
        "memory/memory.limit_in_bytes=7",
      ]);
      expect(lines(1, { cpuShares: 2 })).toEqual(["cpu/cpu.shares=2"]);
    });

    test("version 2", () => {
      expect(lines(2, limits)).toEqual([
        "cpu/cpu.weight=39",
        "cpu/cpu.max=50000 100000",
        "memory/memory.max=7",
      ]);
      expect(lines(2, { cpuShares: 2 })).toEqual(["cpu/cpu.weight=1"]);
      expect(lines(2, { cpuShares: 262_144 })).toEqual(["cpu/cpu.weight=10000"]);
    });
  });
});

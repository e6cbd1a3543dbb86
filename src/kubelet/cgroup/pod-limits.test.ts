import { describe, expect, test } from "vitest";
import type { PodSpec } from "../../api/objects.ts";
import { defaultCpuSettings as cpu } from "../container/linux-resources.ts";
import { makePod } from "../container/make-pod.fixture.ts";
import { burstableLimits, cgroupWrites, podLimits } from "./pod-limits.ts";

const container = (name: string, limits?: Record<string, string>, requests?: Record<string, string>) => ({
  name,
  resources: { ...(limits && { limits }), ...(requests && { requests }) },
});
const full = { cpu: "500m", memory: "64Mi" };
const mebi = 1_024 * 1_024;

describe("podLimits", () => {
  test.each<[string, Partial<PodSpec>, object]>([
    ["nothing asked for", { containers: [container("a")] }, { cpuShares: 2 }],
    [
      "all limited",
      { containers: [container("a", full), container("b", full)] },
      { cpuShares: 1_024, cpuQuotaUs: 100_000, memoryBytes: 128 * mebi },
    ],
    [
      "one without a limit of memory",
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

test("pods of the class Burstable weigh what they ask for", () => {
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

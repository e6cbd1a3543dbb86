import { describe, expect, test } from "vitest";
import type { Container, PodSpec } from "../../api/meta/objects.ts";
import { makePod, makePodWith } from "../containers/make-pod.fixture.ts";
import type { MachineFacts } from "../model/node-facts.ts";
import {
  containerResources,
  defaultCpuSettings as cpu,
  cpuQuotaUs,
  cpuShares,
  hugePageSizeName,
  oomScoreAdjust,
  sandboxResources,
} from "./linux-resources.ts";

describe("linux-resources", () => {
  const machine: MachineFacts = {
    cgroupVersion: 1,
    limitsSwap: false,
    selinux: false,
    hugePageSizes: ["2MB", "1GB"],
    thermalPaths: [],
  };

  function resources(
    of: Container["resources"],
    { spec = {}, on = machine }: { spec?: Partial<PodSpec>; on?: MachineFacts } = {},
  ) {
    const node = { memoryBytes: 8e9, allocatable: {}, hostIps: [], machine: on };
    return containerResources({ ...makePodWith({ resources: of }, spec), node, cpu });
  }

  test.each([
    [0, 2],
    [1, 2],
    [100, 102],
    [1_000, 1_024],
    [300_000, 262_144],
  ])("%i thousandths of a CPU weigh %i", (milli, shares) => {
    expect(cpuShares(milli)).toBe(shares);
  });

  test.each([
    [0, 100_000, 0],
    [1, 100_000, 1_000],
    [250, 100_000, 25_000],
    [1_500, 50_000, 75_000],
  ])("%i thousandths of a CPU in %i µs are %i µs", (milli, period, quota) => {
    expect(cpuQuotaUs(milli, period)).toBe(quota);
  });

  test.each([
    [2 ** 21, "2MB"],
    [2 ** 30, "1GB"],
    [65_536, "64KB"],
    [0, "0B"],
  ])("pages of %i bytes are %s", (bytes, name) => {
    expect(hugePageSizeName(bytes)).toBe(name);
  });

  describe("containerResources", () => {
    const noPages = [
      { pageSize: "2MB", limit: 0n },
      { pageSize: "1GB", limit: 0n },
    ];
    test.each([
      ["nothing", {}, { cpuShares: 2n, cpuQuota: 0n, memoryLimitInBytes: 0n, oomScoreAdj: 1_000n }],
      [
        "requests",
        { requests: { cpu: "250m", memory: "800M" } },
        { cpuShares: 256n, cpuQuota: 0n, memoryLimitInBytes: 0n, oomScoreAdj: 900n },
      ],
      [
        "limits",
        { limits: { cpu: "2", memory: "1Gi" } },
        { cpuShares: 2_048n, cpuQuota: 200_000n, memoryLimitInBytes: 2n ** 30n, oomScoreAdj: -997n },
      ],
    ])("%s", (_, given, expected) => {
      expect(resources(given)).toMatchObject({
        ...expected,
        cpuPeriod: 100_000n,
        hugepageLimits: noPages,
        unified: {},
      });
    });

    test("huge pages", () => {
      expect(resources({ limits: { "hugepages-2Mi": "100Mi" } }).hugepageLimits).toEqual([
        { pageSize: "2MB", limit: 100n * 2n ** 20n },
        { pageSize: "1GB", limit: 0n },
      ]);
    });

    test("a container without limits has those of the pod", () => {
      const spec = { resources: { limits: { cpu: "1", memory: "1Gi" } } };
      expect(resources({}, { spec })).toMatchObject({
        cpuShares: 1_024n,
        cpuQuota: 100_000n,
        memoryLimitInBytes: 2n ** 30n,
      });
    });

    test("cgroup v2 kills a container as a group and disables swap", () => {
      const on: MachineFacts = { ...machine, cgroupVersion: 2 };
      expect(resources({}, { on }).unified).toEqual({ "memory.oom.group": "1" });
      expect(resources({}, { on: { ...on, limitsSwap: true } }).unified).toEqual({
        "memory.oom.group": "1",
        "memory.swap.max": "0",
      });
    });

    test("cgroup v1 limits memory and swap together", () => {
      const limited = resources({ limits: { memory: "1Gi" } }, { on: { ...machine, limitsSwap: true } });
      expect(limited.memorySwapLimitInBytes).toBe(2n ** 30n);
    });

    test("sets no quota if enforcement is disabled", () => {
      const node = { memoryBytes: 8e9, allocatable: {}, hostIps: [], machine };
      const made = makePodWith({ resources: { limits: { cpu: "2" } } });
      const unenforced = containerResources({ ...made, node, cpu: { ...cpu, enforceQuota: false } });
      expect(unenforced).toMatchObject({ cpuQuota: 0n, cpuPeriod: 0n, cpuShares: 2_048n });
    });
  });

  test("a sandbox has the sum of its containers and a separate overhead", () => {
    const pod = makePod({
      containers: [
        { name: "a", resources: { limits: { cpu: "1", memory: "1Gi" } } },
        { name: "b", resources: { limits: { memory: "1Gi" }, requests: { cpu: "500m" } } },
      ],
      overhead: { cpu: "100m", memory: "10M" },
    });
    expect(sandboxResources(pod, { machine, cpu })).toMatchObject({
      resources: { cpuShares: 1_536n, cpuQuota: 100_000n, memoryLimitInBytes: 2n ** 31n },
      overhead: { cpuShares: 102n, cpuQuota: 10_000n, memoryLimitInBytes: 10_000_000n },
    });
    expect(sandboxResources(makePod(), { machine, cpu })).toMatchObject({
      resources: { cpuShares: 2n, cpuQuota: 0n },
      overhead: { cpuShares: 0n, cpuPeriod: 0n },
    });
  });
});

describe("oom-score", () => {
  const memoryBytes = 8_000_000_000;
  const asking = (memory: string, rest: Partial<Container> = {}): Container => ({
    name: "c",
    resources: { requests: { memory } },
    ...rest,
  });
  const fixed = { limits: { cpu: "1", memory: "1Gi" } };
  const sidecar = (memory: string) => asking(memory, { name: "s", restartPolicy: "Always" });

  describe("oomScoreAdjust", () => {
    test.each<[string, Partial<PodSpec>, number]>([
      ["best effort", { containers: [{ name: "c" }] }, 1_000],
      ["guaranteed", { containers: [{ name: "c", resources: fixed }] }, -997],
      [
        "burstable without memory",
        { containers: [{ name: "c", resources: { requests: { cpu: "1" } } }] },
        999,
      ],
      ["a tenth of the memory", { containers: [asking("800M")] }, 900],
      ["a share is rounded down", { containers: [asking("799999999")] }, 901],
      ["all of the memory", { containers: [asking("8G")] }, 3],
      ["more than there is", { containers: [asking("100G")] }, 3],
      ["next to nothing", { containers: [asking("1k")] }, 999],
      [
        "critical for the node",
        { containers: [{ name: "c" }], priorityClassName: "system-node-critical", priority: 2_000_001_000 },
        -997,
      ],
      [
        "critical in name only",
        { containers: [{ name: "c" }], priorityClassName: "system-node-critical", priority: 1 },
        1_000,
      ],
      [
        "a share of what the pod asks for as a whole",
        {
          containers: [asking("800M"), asking("0", { name: "d" })],
          resources: { requests: { memory: "2400M" } },
        },
        800,
      ],
    ])("%s", (_, spec, score) => {
      const pod = makePod(spec);
      const [container = asking("0")] = pod.spec?.containers ?? [];
      expect(oomScoreAdjust(pod, container, memoryBytes)).toBe(score);
    });

    test.each([
      ["below its containers is as safe as the least of them", "80M", 900],
      ["above them is safer", "1600M", 800],
    ])("a sidecar %s", (_, memory, score) => {
      const containers = [asking("800M"), asking("1600M", { name: "d" })];
      const pod = makePod({ containers, initContainers: [sidecar(memory)] });
      expect(oomScoreAdjust(pod, sidecar(memory), memoryBytes)).toBe(score);
    });
  });
});

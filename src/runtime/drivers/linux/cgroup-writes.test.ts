import { describe, expect, it } from "vitest";
import { weightFromShares } from "../../../lib/cgroup/cgroup-layout.ts";
import { planCgroupWrites } from "./cgroup-writes.ts";

const plan = (kind: "v1" | "v2", resources: object) =>
  Object.fromEntries(planCgroupWrites(kind, resources).map(({ file, value }) => [file, value]));

describe("planCgroupWrites", () => {
  const all = {
    cpuShares: 1024,
    cpuQuota: 50_000,
    cpuPeriod: 100_000,
    memoryLimitBytes: 1000,
    memorySwapLimitBytes: 1500,
    cpusetCpus: "0-1",
    pidsLimit: 10,
    hugepageLimits: [{ pageSize: "2MB", limitBytes: 0 }],
  };

  it("writes every limit into the files of version 1", () => {
    expect(plan("v1", all)).toEqual({
      "cpu.shares": "1024",
      "cpu.cfs_period_us": "100000",
      "cpu.cfs_quota_us": "50000",
      "cpuset.cpus": "0-1",
      "memory.limit_in_bytes": "1000",
      "memory.memsw.limit_in_bytes": "1500",
      "pids.max": "10",
      "hugetlb.2MB.limit_in_bytes": "0",
    });
  });

  it("writes every limit into the files of version 2", () => {
    expect(plan("v2", { ...all, unified: { "memory.high": "900" } })).toEqual({
      "cpu.weight": "39",
      "cpu.max": "50000 100000",
      "cpuset.cpus": "0-1",
      "memory.max": "1000",
      "memory.swap.max": "500",
      "pids.max": "10",
      "hugetlb.2MB.max": "0",
      "memory.high": "900",
    });
  });

  it("writes nothing without limits, removes a limit with -1, and disables swap by default", () => {
    expect(plan("v1", {})).toEqual({});
    expect(plan("v2", { cpuQuota: 0, memoryLimitBytes: 0 })).toEqual({});
    expect(plan("v2", { cpuQuota: -1, pidsLimit: -1, memoryLimitBytes: -1 })).toEqual({
      "cpu.max": "max 100000",
      "pids.max": "max",
      "memory.max": "max",
    });
    expect(plan("v2", { memoryLimitBytes: 7 })).toEqual({ "memory.max": "7", "memory.swap.max": "0" });
  });
});

it.each([
  [2, 1],
  [1024, 39],
  [262_144, 10_000],
  [0, 1],
])("converts %i shares to weight %i", (shares, weight) => {
  expect(weightFromShares(shares)).toBe(weight);
});

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import type { CgroupLayout } from "../../../lib/cgroup/cgroup-layout.ts";
import { readOomKills, readUsage } from "./read-cgroup.ts";

let root: string;
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "cgroup-"));
});
afterEach(() => rmSync(root, { recursive: true }));

function write(files: Record<string, string>): void {
  mkdirSync(join(root, "c"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(root, "c", name), text);
}

it("reads the usage of a v2 cgroup", () => {
  write({
    "cpu.stat": "usage_usec 1500\nuser_usec 1000\n",
    "memory.current": "5000\n",
    "memory.stat": "anon 2000\ninactive_file 1500\npgfault 7\npgmajfault 1\n",
    "memory.events": "oom 1\noom_kill 2\n",
    "pids.current": "3\n",
  });
  const layout: CgroupLayout = { kind: "v2", v1: {}, unified: root };
  expect(readUsage(layout, "/c")).toEqual({
    cpuNanos: 1_500_000,
    memoryUsageBytes: 5000,
    memoryWorkingSetBytes: 3500,
    memoryRssBytes: 2000,
    pageFaults: 7,
    majorPageFaults: 1,
    pids: 3,
  });
  expect(readOomKills(layout, "/c")).toBe(2);
});

it("reads the usage of a v1 cgroup; undefined when there is none", () => {
  write({
    "cpuacct.usage": "42\n",
    "memory.usage_in_bytes": "100\n",
    "memory.stat": "total_inactive_file 200\ntotal_rss 30\n",
    "memory.oom_control": "oom_kill_disable 0\nunder_oom 0\noom_kill 0\n",
    "pids.current": "1\n",
  });
  const layout: CgroupLayout = {
    kind: "v1",
    v1: { cpuacct: root, memory: root, pids: root },
    unified: undefined,
  };
  expect(readUsage(layout, "/c")).toMatchObject({
    cpuNanos: 42,
    memoryWorkingSetBytes: 0,
    memoryRssBytes: 30,
    pids: 1,
  });
  expect(readOomKills(layout, "/c")).toBe(0);
  expect(readUsage(layout, "/gone")).toBeUndefined();
  expect(readOomKills(layout, "/gone")).toBeUndefined();
});

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CgroupLayout, controllerDir } from "../../../lib/cgroup/cgroup-layout.ts";
import type { ContainerUsage } from "../driver.ts";

/** Usage of a cgroup; undefined when it does not exist. */
export function readUsage(layout: CgroupLayout, cgroup: string): ContainerUsage | undefined {
  const read = (controller: string, file: string) => {
    const dir = controllerDir(layout, controller, cgroup);
    return dir === undefined ? undefined : readText(join(dir, file));
  };
  return layout.kind === "v2" ? usageV2(read) : usageV1(read);
}

type Read = (controller: string, file: string) => string | undefined;

function usageV1(read: Read): ContainerUsage | undefined {
  const cpuNanos = read("cpuacct", "cpuacct.usage");
  const usage = read("memory", "memory.usage_in_bytes");
  if (cpuNanos === undefined && usage === undefined) return undefined;
  const stat = parseFlatKeyed(read("memory", "memory.stat") ?? "");
  return {
    cpuNanos: Number(cpuNanos ?? 0),
    memoryUsageBytes: Number(usage ?? 0),
    memoryWorkingSetBytes: workingSet(Number(usage ?? 0), stat.get("total_inactive_file")),
    memoryRssBytes: stat.get("total_rss") ?? 0,
    pageFaults: stat.get("total_pgfault") ?? 0,
    majorPageFaults: stat.get("total_pgmajfault") ?? 0,
    pids: Number(read("pids", "pids.current") ?? 0),
  };
}

function usageV2(read: Read): ContainerUsage | undefined {
  const cpu = read("cpu", "cpu.stat");
  if (cpu === undefined) return undefined;
  const usage = Number(read("memory", "memory.current") ?? 0);
  const stat = parseFlatKeyed(read("memory", "memory.stat") ?? "");
  return {
    cpuNanos: (parseFlatKeyed(cpu).get("usage_usec") ?? 0) * 1000,
    memoryUsageBytes: usage,
    memoryWorkingSetBytes: workingSet(usage, stat.get("inactive_file")),
    memoryRssBytes: stat.get("anon") ?? 0,
    pageFaults: stat.get("pgfault") ?? 0,
    majorPageFaults: stat.get("pgmajfault") ?? 0,
    pids: Number(read("pids", "pids.current") ?? 0),
  };
}

/** Working set as in cAdvisor: usage without the file cache that could be dropped at once. */
function workingSet(usage: number, inactiveFile = 0): number {
  return Math.max(0, usage - inactiveFile);
}

/** Number of the cgroup's processes that the kernel killed for lack of memory; undefined when unknown. */
export function readOomKills(layout: CgroupLayout, cgroup: string): number | undefined {
  const dir = controllerDir(layout, "memory", cgroup);
  const file = layout.kind === "v2" ? "memory.events" : "memory.oom_control";
  const text = dir === undefined ? undefined : readText(join(dir, file));
  return text === undefined ? undefined : parseFlatKeyed(text).get("oom_kill");
}

function parseFlatKeyed(text: string): Map<string, number> {
  const lines = text.split("\n").filter(Boolean);
  return new Map(
    lines.map((line) => [line.slice(0, line.indexOf(" ")), Number(line.slice(line.indexOf(" ")))]),
  );
}

function readText(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    return undefined;
  }
}

// One pull by our images in a process of its own, so that its time and peak memory are its own; prints JSON.
import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import type { ReportGranularity } from "../../src/cri/report-meter.ts";
import { createImages } from "../../src/runtime/image/create-images.ts";
import { watchLoopPauses } from "./loop-pauses.ts";

const { values: args } = parseArgs({
  options: {
    "data-dir": { type: "string", default: "" },
    "unpack-program": { type: "string", default: "" },
    reference: { type: "string", default: "" },
    "interval-bytes": { type: "string", default: "0" },
  },
});
const intervalBytes = Number(args["interval-bytes"]);
const granularity: ReportGranularity = intervalBytes > 0 ? { kind: "size", intervalBytes } : { kind: "none" };
const images = await createImages({ dataDir: args["data-dir"], unpackProgram: args["unpack-program"] });
const signal = new AbortController().signal;
const loop = watchLoopPauses();
const cpuBefore = process.cpuUsage();
const startedAt = performance.now();
let reports = 0;
for await (const _report of images.pull({ reference: args.reference, granularity, signal })) reports++;
const ms = performance.now() - startedAt;
const cpu = process.cpuUsage(cpuBefore);
const pauses = loop.stop();
const own = peakKiB(process.pid);
const helpers = descendants(process.pid).map(peakKiB);
const [daemonMiB, allMiB] = [own / 1024, (own + sum(helpers)) / 1024];
const cpuMs = (cpu.user + cpu.system) / 1_000;
console.log(
  JSON.stringify({
    ms,
    reports,
    cpuMs,
    daemonMiB,
    allMiB,
    pauseMs: pauses.longestMs,
    p99PauseMs: pauses.p99Ms,
  }),
);
await images.close();

function peakKiB(pid: number): number {
  try {
    return Number(/VmHWM:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

function descendants(pid: number): number[] {
  const parents = readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const status = readFileSync(`/proc/${name}/status`, "utf8");
      return [{ pid: Number(name), parent: Number(/PPid:\s+(\d+)/.exec(status)?.[1] ?? 0) }];
    } catch {
      return [];
    }
  });
  const below = (of: number): number[] =>
    parents.filter(({ parent }) => parent === of).flatMap((found) => [found.pid, ...below(found.pid)]);
  return below(pid);
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

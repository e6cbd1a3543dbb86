// Serves the runtime's images on a socket in a separate process, so that its CPU time and peak memory can be measured. It prints
// `ready`, and a JSON result when its input ends.
import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";
import { ImageServiceService } from "../../src/cri/generated/cri.ts";
import { listenOnSocket } from "../../src/cri/listen-on-socket.ts";
import { serveCalls } from "../../src/cri/serve-call.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { pullImageWithProgress } from "../../src/runtime/cri/calls/image-calls.ts";
import { toStatus } from "../../src/runtime/cri/calls/to-status.ts";
import { createImages } from "../../src/runtime/images/create-images.ts";
import { watchLoopPauses } from "./loop-pauses.ts";

const { values: args } = parseArgs({
  options: {
    "data-dir": { type: "string", default: "" },
    "unpack-program": { type: "string", default: "" },
    listen: { type: "string", default: "" },
  },
});
const images = await createImages({ dataDir: args["data-dir"], unpackProgram: args["unpack-program"] });
const calls = { pullImageWithProgress: pullImageWithProgress({ images }) };
const server = await listenOnSocket(args.listen, {
  runtime: {},
  images: serveCalls(ImageServiceService, calls, { logger: silentLogger, toStatus }),
});
const loop = watchLoopPauses();
const cpuBefore = process.cpuUsage();
console.log("ready");
for await (const _input of process.stdin);
const cpu = process.cpuUsage(cpuBefore);
const pauses = loop.stop();
const own = peakKiB(process.pid);
const helpers = descendants(process.pid).map(peakKiB);
console.log(
  JSON.stringify({
    cpuMs: (cpu.user + cpu.system) / 1_000,
    daemonMiB: own / 1_024,
    allMiB: (own + sum(helpers)) / 1_024,
    pauseMs: pauses.longestMs,
    p99PauseMs: pauses.p99Ms,
  }),
);
await server.close();
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

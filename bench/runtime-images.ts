// Compares pulling and unpacking from a loopback registry with containerd:
// npm run bench -- runtime-images [--rounds 5] [--directory DIR]
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { parseArgs, promisify } from "node:util";
import { connectCri } from "../src/cri/cri-client.ts";
import {
  PullImageWithProgressRequest_GranularityType as Granularity,
  PullImageWithProgressRequest,
} from "../src/cri/generated/cri.ts";
import { type Containerd, startContainerd } from "../test/support/cri/containerd.ts";
import { bundle } from "../test/support/programs/bundle.ts";
import { toolPath } from "../test/support/programs/tools.ts";
import { startRegistry } from "../test/support/registry/registry.ts";
import { makeBenchImage } from "./support/bench-image.ts";
import { median } from "./support/median.ts";
import { printTable } from "./support/print-table.ts";

const { values: args } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    directory: { type: "string", default: tmpdir() },
  },
});
const run = promisify(execFile);
const rounds = Number(args.rounds);
const MiB = 2 ** 20;
const shapes = [
  { name: "240 MB, 4 layers", tag: "bench/big:1", layers: 4, layerBytes: 60e6 },
  { name: "40 MB, 40 layers", tag: "bench/many:1", layers: 40, layerBytes: 1e6 },
];
/** Image that is pulled once to measure memory. */
const otherShapes = [
  { name: "400 MB, one layer", tag: "bench/one:1", layers: 1, layerBytes: 400e6, fileSizes: [50e6] },
  { name: "40,000 small files", tag: "bench/files:1", layers: 1, layerBytes: 40e6, fileSizes: [1_000] },
  {
    name: "240 MB, 4 layers, zstd",
    tag: "bench/zstd:1",
    layers: 4,
    layerBytes: 60e6,
    push: ["--dest-compress-format", "zstd"],
  },
];

interface OurPull {
  ms: number;
  reports: number;
  /** CPU time of the daemon without its unpack process. */
  cpuMs: number;
  daemonMiB: number;
  allMiB: number;
  /** Longest uninterrupted time for which the daemon's event loop was busy. */
  pauseMs: number;
  p99PauseMs: number;
}

const folder = await mkdtemp(join(args.directory, "kindling-bench-images-"));
const registry = await startRegistry();
const contestants: PullingContainerd[] = [];
const programs = {
  daemon: await bundle("bench/support/pulling-daemon.ts"),
  unpack: await bundle("src/runtime/snapshots/unpack-process.ts"),
};
try {
  const rows: string[][] = [];
  for (const shape of shapes) rows.push(await compare(shape));
  printTable(
    [
      "pull and unpack",
      "ours",
      "containerd",
      "with reports",
      "CPU of reports",
      "daemon MiB",
      "with unpack process",
      "event loop busy at most",
      "p99",
    ],
    rows,
  );
  const others: string[][] = [];
  for (const shape of otherShapes) {
    const reference = await publish(shape);
    const { daemonMiB, allMiB } = await pullOurs(reference, 0);
    others.push([shape.name, daemonMiB.toFixed(0), allMiB.toFixed(0)]);
  }
  printTable(["peak memory", "daemon MiB", "with unpack process"], others);
} finally {
  for (const containerd of contestants) await containerd.stop();
  await registry.stop();
  await rm(folder, { recursive: true, force: true });
}

interface Shape extends Omit<Parameters<typeof makeBenchImage>[0], "directory"> {
  readonly name: string;
  readonly tag: string;
  /** Arguments of skopeo for the push. */
  readonly push?: readonly string[];
}

/** Creates the image. Returns its reference in the registry. */
async function publish(shape: Shape): Promise<string> {
  console.error(`creating ${shape.name}`);
  const source = await makeBenchImage({ directory: await mkdtemp(join(folder, "image-")), ...shape });
  await registry.push(source, shape.tag, shape.push);
  return `${registry.host}/${shape.tag}`;
}

async function compare(shape: Shape): Promise<string[]> {
  const reference = await publish(shape);
  const plain: OurPull[] = [];
  const reported: OurPull[] = [];
  const theirs: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const turns = [
      async () => plain.push(await pullOurs(reference, 0)),
      async () => theirs.push(await pullTheirs(reference)),
      async () => reported.push(await pullOurs(reference, MiB)),
    ];
    for (let turn = 0; turn < turns.length; turn++) {
      // Flushes pending writes, so that the next contestant does not wait for them.
      await run("sync");
      await turns[(turn + round) % turns.length]?.();
    }
    console.error(
      `round ${round + 1} of ${rounds}: ours ${ms(plain.at(-1)?.ms)}, containerd ${ms(theirs.at(-1))}, with ${reported.at(-1)?.reports} reports ${ms(reported.at(-1)?.ms)}`,
    );
  }
  const [ours, other, withReports] = [
    median(plain.map((pull) => pull.ms)),
    median(theirs),
    median(reported.map((pull) => pull.ms)),
  ];
  return [
    shape.name,
    ms(ours),
    ms(other),
    ms(withReports),
    `${((100 * median(reported.map(({ cpuMs }, i) => cpuMs - (plain[i]?.cpuMs ?? 0)))) / ours).toFixed(1)} %`,
    Math.max(...plain.map((pull) => pull.daemonMiB)).toFixed(0),
    Math.max(...plain.map((pull) => pull.allMiB)).toFixed(0),
    `${median(plain.map((pull) => pull.pauseMs)).toFixed(0)} ms`,
    `${median(plain.map((pull) => pull.p99PauseMs)).toFixed(1)} ms`,
  ];
}

/** Starts an empty daemon and pulls over its socket as a kubelet does, with progress reports at this interval in bytes. */
async function pullOurs(reference: string, intervalBytes: number): Promise<OurPull> {
  // Kept until the end: for a minute, ext4 examines every freed inode before it creates a new one, which would slow down the
  // next pull.
  const dataDir = await mkdtemp(join(folder, "data-"));
  const listen = `unix://${dataDir}.sock`;
  const daemon = spawn(
    process.execPath,
    [programs.daemon, `--data-dir=${dataDir}`, `--unpack-program=${programs.unpack}`, `--listen=${listen}`],
    { stdio: ["pipe", "pipe", "inherit"] },
  );
  const lines = createInterface({ input: daemon.stdout });
  await once(lines, "line");
  const client = connectCri(listen);
  const request = PullImageWithProgressRequest.fromPartial({
    request: { image: { image: reference } },
    granularityType: intervalBytes > 0 ? Granularity.SIZE : Granularity.NONE,
    interval: { value: BigInt(intervalBytes) },
    verbosity: true,
  });
  const startedAt = performance.now();
  let reports = 0;
  for await (const _report of client.images.pullImageWithProgress(request)) reports++;
  const took = performance.now() - startedAt;
  const firstLine = once(lines, "line");
  daemon.stdin.end();
  const [measured] = await firstLine;
  client.close();
  await once(daemon, "exit");
  return { ms: took, reports, ...JSON.parse(measured) };
}

async function pullTheirs(reference: string): Promise<number> {
  const containerd = await startPullingContainerd(await mkdtemp(join(folder, "c-")));
  contestants.push(containerd);
  return containerd.pull(reference);
}

function ms(value: number | undefined): string {
  return value === undefined ? "-" : `${(value / 1_000).toFixed(2)} s`;
}

/** New, empty containerd that pulls and unpacks once. */
interface PullingContainerd extends Pick<Containerd, "stop"> {
  /** Returns the duration in milliseconds. */
  pull(reference: string): Promise<number>;
}

async function startPullingContainerd(folder: string): Promise<PullingContainerd> {
  const { ctr, stop } = await startContainerd({ program: toolPath("containerd"), folder });
  return {
    async pull(reference) {
      const startedAt = performance.now();
      await ctr("images", "pull", "--plain-http", reference);
      return performance.now() - startedAt;
    },
    stop,
  };
}

// Pulling and unpacking from a loopback docker-registry, beside the machine's containerd:
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
import { bundle } from "../test/support/bundle.ts";
import { startRegistry } from "../test/support/registry.ts";
import { makeBenchImage } from "./support/bench-image.ts";
import { type PullingContainerd, startPullingContainerd } from "./support/containerd.ts";
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
/** Pulled once, for the memory. */
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
  /** Of the daemon, without its unpack process. */
  cpuMs: number;
  daemonMiB: number;
  allMiB: number;
  /** The longest that the daemon's event loop was busy at a stretch. */
  pauseMs: number;
  p99PauseMs: number;
}

const folder = await mkdtemp(join(args.directory, "kindling-bench-images-"));
const registry = await startRegistry();
const contestants: PullingContainerd[] = [];
const programs = {
  daemon: await bundle("bench/support/pulling-daemon.ts"),
  unpack: await bundle("src/runtime/snapshot/unpack-process.ts"),
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
  /** Of skopeo, when it pushes. */
  readonly push?: readonly string[];
}

/** Makes the image and answers with its reference in the registry. */
async function publish(shape: Shape): Promise<string> {
  console.error(`making ${shape.name}`);
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
      // What one left to be written to disk is not the next one's to wait for.
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

/** A new daemon with nothing, asked over its socket as a kubelet would; with a verbose report each so many bytes. */
async function pullOurs(reference: string, intervalBytes: number): Promise<OurPull> {
  // Kept until the end: for a minute ext4 looks at every inode that was freed before it makes a new one, and the next
  // pull would pay for our cleaning up.
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
  const told = once(lines, "line");
  daemon.stdin.end();
  const [measured] = await told;
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

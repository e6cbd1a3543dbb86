// Pulling and unpacking from a loopback docker-registry, beside the machine's containerd:
// npm run bench -- runtime-images [--rounds 5] [--directory DIR]
import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs, promisify } from "node:util";
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
  pull: await bundle("bench/support/pull-once.ts"),
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
} finally {
  for (const containerd of contestants) await containerd.stop();
  await registry.stop();
  await rm(folder, { recursive: true, force: true });
}

async function compare(shape: (typeof shapes)[number]): Promise<string[]> {
  console.error(`making ${shape.name}`);
  const source = await makeBenchImage({ directory: join(folder, `image-${shape.layers}`), ...shape });
  await registry.push(source, shape.tag);
  const reference = `${registry.host}/${shape.tag}`;
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
    `${((100 * (median(reported.map(cpuOf)) - median(plain.map(cpuOf)))) / ours).toFixed(1)} %`,
    Math.max(...plain.map((pull) => pull.daemonMiB)).toFixed(0),
    Math.max(...plain.map((pull) => pull.allMiB)).toFixed(0),
    `${median(plain.map((pull) => pull.pauseMs)).toFixed(0)} ms`,
    `${median(plain.map((pull) => pull.p99PauseMs)).toFixed(1)} ms`,
  ];
}

async function pullOurs(reference: string, intervalBytes: number): Promise<OurPull> {
  const dataDir = await mkdtemp(join(folder, "data-"));
  // Kept until the end: for a minute ext4 looks at every inode that was freed before it makes a new one, and the next
  // pull would pay for our cleaning up.
  const { stdout } = await run(process.execPath, [
    programs.pull,
    `--data-dir=${dataDir}`,
    `--unpack-program=${programs.unpack}`,
    `--reference=${reference}`,
    `--interval-bytes=${intervalBytes}`,
  ]);
  return JSON.parse(stdout);
}

async function pullTheirs(reference: string): Promise<number> {
  const containerd = await startPullingContainerd(await mkdtemp(join(folder, "c-")));
  contestants.push(containerd);
  return containerd.pull(reference);
}

function cpuOf({ cpuMs }: OurPull): number {
  return cpuMs;
}

function ms(value: number | undefined): string {
  return value === undefined ? "-" : `${(value / 1_000).toFixed(2)} s`;
}

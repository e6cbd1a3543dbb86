// The API server beside the floor of one Node process, and beside an upstream server whose address is given.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { parseArgs } from "node:util";
import { build } from "esbuild";
import { benchToken, createApiLoad, openNodeWatches } from "./support/api-load.ts";
import { startChildServer } from "./support/child-server.ts";
import { type Comparison, formatNumber, runComparisons } from "./support/comparison.ts";
import { median } from "./support/median.ts";
import { printTable } from "./support/print-table.ts";

const { values: args } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    seconds: { type: "string", default: "3" },
    connections: { type: "string", default: "64" },
    watches: { type: "string", default: "5000" },
    /** https address of a kube-apiserver that takes the token `bench-token` for an administrator's. */
    upstream: { type: "string" },
  },
});
const load = { seconds: Number(args.seconds), connections: Number(args.connections) };
const rounds = Number(args.rounds);
const patchedPods = 2_000;

const folder = await mkdtemp(join(tmpdir(), "kindling-bench-"));
const tokenFile = join(folder, "tokens.csv");
await writeFile(tokenFile, `${benchToken},bench,1,"system:masters"\n`);
const floorFile = resolve("node_modules/.cache/bench/api-floor-server.mjs");
await build({
  entryPoints: ["bench/support/api-floor-server.ts"],
  outfile: floorFile,
  bundle: true,
  format: "esm",
  platform: "node",
  packages: "external",
});

const startOurs = (name: string) =>
  startChildServer("dist/kindling.js", [
    "apiserver",
    ...["--data-dir", join(folder, name), "--listen", "127.0.0.1:0", "--token-auth-file", tokenFile],
    ...["--log-level", "warn"],
  ]);

const ours = await startOurs("kindling");
const startFloor = (addedBytes: number) =>
  startChildServer(floorFile, [folder, join(folder, "kindling", "pki"), String(addedBytes)]);
const floor = await startFloor(0);
const servers = [ours, floor];
try {
  await run();
} finally {
  await Promise.all(servers.map((server) => server.stop()));
  await rm(folder, { recursive: true });
}

async function run(): Promise<void> {
  const idleMegabytes = ours.residentMegabytes();
  const starts: number[] = [];
  for (let round = 0; round < rounds; round++) {
    const fresh = await startOurs(`start-${round}`);
    starts.push(fresh.startMs);
    await fresh.stop();
  }

  const apis: Record<string, ReturnType<typeof createApiLoad>> = {};
  const enter = async (name: string, url: string) => {
    const api = createApiLoad(url, load);
    await api.fill(patchedPods);
    apis[name] = api;
    return api.objectBytes();
  };
  const addedBytes = (await enter("kindling", ours.url)) - (await enter("floor", floor.url));
  // A pod of ours is longer than what was sent, which is what the floor answers.
  const longFloor = await startFloor(addedBytes);
  servers.push(longFloor);
  await enter("floor, as long", longFloor.url);
  if (args.upstream) await enter("upstream", args.upstream);
  const compare = (
    name: string,
    unit: string,
    measure: (api: ReturnType<typeof createApiLoad>) => Promise<number>,
  ): Comparison => ({
    name,
    unit,
    measures: Object.fromEntries(Object.entries(apis).map(([who, api]) => [who, () => measure(api)])),
  });
  // Gets first: the creates leave hundreds of thousands of objects behind.
  const results = await runComparisons(
    [
      compare("gets", "1/s", (api) => api.gets()),
      compare("status patches", "1/s", (api) => api.patches(patchedPods)),
      compare("creates", "1/s", (api) => api.creates()),
    ],
    { rounds, onProgress: note },
  );

  const listed = await startOurs("list");
  const listing = createApiLoad(listed.url, load);
  await listing.fill(3_000);
  const lists: number[] = [];
  for (let i = 0; i < 7; i++) lists.push(await listing.listMs());
  await listed.stop();
  const slowdowns: number[] = [];
  for (let round = 0; round < rounds; round++) slowdowns.push(await watchSlowdown(round));

  printTable(
    ["", "unit", ...Object.keys(apis), "of floor", "of floor, as long", "target"],
    results.map(({ name, unit, medians }) => {
      const rateOf = (contestant: string) => medians[contestant] ?? Number.NaN;
      const shareOf = (floor: string) => `${((100 * rateOf("kindling")) / rateOf(floor)).toFixed(0)} %`;
      return [
        name,
        unit,
        ...Object.keys(apis).map((contestant) => formatNumber(rateOf(contestant))),
        shareOf("floor"),
        shareOf("floor, as long"),
        name === "gets" ? "85 %" : "60 %",
      ];
    }),
  );
  printTable(
    ["", "measured", "target"],
    [
      ["launch to ready", `${median(starts).toFixed(0)} ms`, "400 ms"],
      ["list of 3,000 pods", `${median(lists).toFixed(0)} ms`, "60 ms"],
      ["idle memory", `${idleMegabytes.toFixed(0)} MB`, "90 MB"],
      [`creates slowed by ${args.watches} watches`, `${(100 * median(slowdowns)).toFixed(0)} %`, "20 %"],
    ],
  );
}

/** By which part creates are slower with watches than without: each on a server of its own, in turns the first. */
async function watchSlowdown(round: number): Promise<number> {
  const rates = { watched: 0, unwatched: 0 };
  const order = ["watched", "unwatched"] as const;
  for (const kind of round % 2 === 0 ? order : order.toReversed()) {
    const fresh = await startOurs(`${kind}-${round}`);
    const api = createApiLoad(fresh.url, load);
    const close = kind === "watched" ? await openNodeWatches(fresh.url, Number(args.watches)) : () => {};
    // The first run is for the compiler.
    await api.creates();
    rates[kind] = await api.creates();
    close();
    await fresh.stop();
    note(`round ${round + 1} of ${rounds}: creates, ${kind}: ${formatNumber(rates[kind])}`);
  }
  return 1 - rates.watched / rates.unwatched;
}

function note(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\x1b[2K${line}\r`);
}

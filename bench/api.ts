// Compares the API server with a minimal Node server (the floor) and, if an address is given, with an upstream kube-apiserver.
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { measureDefinitions } from "./support/api-definitions.ts";
import { benchToken, createApiLoad, openNodeWatches } from "./support/api-load.ts";
import { measureMemory } from "./support/api-memory.ts";
import { measureWebhooks } from "./support/api-webhooks.ts";
import { bundleProgram } from "./support/bundle-program.ts";
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
    /** Number of concurrent watches in the memory measurement. */
    "idle-watches": { type: "string", default: "10000" },
    /** Measures only `requests`, the `memory` of open responses, many `definitions`, or `webhooks`. Default: all. */
    only: { type: "string" },
    /** HTTPS address of a kube-apiserver that accepts `bench-token` as an administrator's token. */
    upstream: { type: "string" },
  },
});
const load = { seconds: Number(args.seconds), connections: Number(args.connections) };
const rounds = Number(args.rounds);
const patchedPods = 2_000;

const folder = await mkdtemp(join(tmpdir(), "kindling-bench-"));
const tokenFile = join(folder, "tokens.csv");
await writeFile(tokenFile, `${benchToken},bench,1,"system:masters"\n`);
const floorFile = await bundleProgram("api-floor-server");

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
  const measures = (part: string) => args.only === undefined || args.only === part;
  if (measures("requests")) await run();
  if (measures("definitions")) await measureDefinitions({ startServer: startOurs, rounds });
  if (measures("webhooks")) await measureWebhooks({ startServer: startOurs, folder });
  if (measures("memory"))
    await measureMemory({
      startServer: startOurs,
      pkiDir: join(folder, "kindling", "pki"),
      watches: Number(args["idle-watches"]),
      onProgress: note,
    });
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
  // The API server adds fields to a pod, so a second floor pads its objects to the same length.
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
  // Gets run first, because the creates leave hundreds of thousands of objects.
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

/** Share by which open watches slow down creates. Each case has its own server; the order alternates. */
async function watchSlowdown(round: number): Promise<number> {
  const rates = { watched: 0, unwatched: 0 };
  const order = ["watched", "unwatched"] as const;
  for (const kind of round % 2 === 0 ? order : order.toReversed()) {
    const fresh = await startOurs(`${kind}-${round}`);
    const api = createApiLoad(fresh.url, load);
    const close = kind === "watched" ? await openNodeWatches(fresh.url, Number(args.watches)) : () => {};
    // The first run warms up the JIT compiler.
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

// Compares the lmdb backend with etcd on the same disk, and with lmdb alone:
// npm run bench -- store [--rounds 5] [--keys 100000] [--directory DIR]

import { closeSync, fdatasyncSync, openSync, writeSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createEtcdStore } from "../src/store/etcd/etcd-store.ts";
import { openLmdbStore } from "../src/store/lmdb/lmdb-store.ts";
import { startEtcd } from "../test/support/servers/etcd-server.ts";
import { type Comparison, formatNumber, formatRatio, runComparisons } from "./support/comparison.ts";
import { median } from "./support/median.ts";
import { printTable } from "./support/print-table.ts";
import { openRawLmdb } from "./support/raw-lmdb.ts";
import { createStoreLoad, type StoreLoad } from "./support/store-load.ts";

const { values: args } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    keys: { type: "string", default: "100000" },
    directory: { type: "string", default: tmpdir() },
  },
});
const rounds = Number(args.rounds);
const keys = Number(args.keys);
/** Minimum ratio to etcd at 64 writers. It is low, because machines differ. */
const expectedRatio = 3;

const folder = await mkdtemp(join(args.directory, "kindling-bench-"));
const server = await startEtcd({ args: ["--data-dir", join(folder, "etcd")] });
const stores = {
  lmdb: await openLmdbStore({ directory: join(folder, "lmdb") }),
  etcd: createEtcdStore({ endpoints: [server.url] }),
};
const alone = openRawLmdb(join(folder, "alone"));
try {
  await run();
} finally {
  await Promise.all([stores.lmdb.close(), stores.etcd.close(), alone.close()]);
  await server.remove();
  await rm(folder, { recursive: true });
}

async function run(): Promise<void> {
  progress("filling");
  const lmdb = await createStoreLoad(stores.lmdb, { keys });
  const etcd = await createStoreLoad(stores.etcd, { keys });
  const both = (measure: (load: StoreLoad) => Promise<number>) => ({
    lmdb: () => measure(lmdb),
    etcd: () => measure(etcd),
  });
  const puts = (writers: number): Comparison => ({
    name: `puts, writers: ${formatNumber(writers)}`,
    unit: "puts/s",
    measures: {
      ...both((load) => load.putsPerSecond(writers)),
      same: () => alone.putsPerSecond(writers, { rows: "same" }),
      one: () => alone.putsPerSecond(writers, { rows: "one" }),
    },
  });
  const list: Comparison = {
    name: `list, keys: ${formatNumber(keys)}`,
    unit: "keys/s",
    measures: both((load) => load.listedPerSecond()),
  };
  const watch: Comparison = {
    name: "events, watchers: 1,000",
    unit: "deliveries/s",
    measures: both((load) => load.deliveriesPerSecond(1_000)),
  };
  const comparisons = [puts(1), puts(64), puts(1_000), list, watch];
  const results = await runComparisons(comparisons, { rounds, onProgress: progress });
  progress("");

  const syncMs = measureSyncMs(join(folder, "sync"));
  console.log(
    `1 KiB values; medians of ${rounds} rounds; a sync of 4 KiB takes ${formatNumber(syncMs)} ms\n`,
  );
  printTable(
    ["", "", "lmdb", "etcd", "lmdb/etcd", "lmdb alone", "alone/lmdb", "one row alone"],
    results.map(({ name, unit, medians: { lmdb, etcd, same, one } }) => [
      ...[name, unit, formatNumber(lmdb), formatNumber(etcd), formatRatio(lmdb, etcd)],
      ...[formatNumber(same), formatRatio(same, lmdb), formatNumber(one)],
    ]),
  );
  console.log(
    "\nlmdb alone: the two rows of an update (value in the log, revision in the index) are put without reading,\n" +
      "comparing, checksums or watches. One row alone: only the value is put.",
  );
  explain(results[1]?.medians ?? {});
}

/** Prints the probable reason if lmdb is not as much faster than etcd as expected. */
function explain({ lmdb = 0, etcd = 0, same = 0 }: Record<string, number>): void {
  if (lmdb >= expectedRatio * etcd) return;
  const reason =
    same < expectedRatio * etcd
      ? "lmdb alone is as slow: the disk, which LMDB syncs twice per commit, is the limit"
      : `lmdb alone reaches ${formatRatio(same, etcd)}: the rest is the overhead of the store`;
  console.log(`\nAt 64 writers lmdb is only ${formatRatio(lmdb, etcd)} etcd; ${reason}.`);
}

function progress(line: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\x1b[2K${line}\r`);
}

/** Median time of a sync of 4 KiB, the lower bound of every durable write. */
function measureSyncMs(file: string): number {
  const handle = openSync(file, "w");
  const page = Buffer.alloc(4_096);
  const samples: number[] = [];
  for (let i = 0; i < 100; i++) {
    const start = performance.now();
    writeSync(handle, page, 0, page.length, 0);
    fdatasyncSync(handle);
    samples.push(performance.now() - start);
  }
  closeSync(handle);
  return median(samples);
}

// The lmdb backend beside a real etcd on the same disk, and beside lmdb without our layer.
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { createEtcdStore } from "../src/store/etcd-store.ts";
import { openLmdbStore } from "../src/store/lmdb-store.ts";
import { startEtcd } from "../test/support/etcd-server.ts";
import { type Comparison, formatNumber, runComparisons } from "./support/comparison.ts";
import { printTable } from "./support/print-table.ts";
import { openRawLmdb } from "./support/raw-lmdb.ts";
import { createStoreLoad } from "./support/store-load.ts";
import { measureSyncMs } from "./support/sync-time.ts";

const { values: args } = parseArgs({
  options: {
    rounds: { type: "string", default: "5" },
    directory: { type: "string", default: tmpdir() },
    keys: { type: "string", default: "100000" },
  },
});
const folder = await mkdtemp(join(args.directory, "kindling-bench-"));
const etcd = await startEtcd({ args: ["--data-dir", join(folder, "etcd")] });
const lmdbStore = await openLmdbStore({ directory: join(folder, "lmdb") });
const etcdStore = createEtcdStore({ endpoints: [etcd.url] });
const raw = openRawLmdb(join(folder, "raw"));
try {
  await run();
} finally {
  await Promise.all([lmdbStore.close(), etcdStore.close(), raw.close()]);
  await etcd.remove();
  await rm(folder, { recursive: true });
}

async function run(): Promise<void> {
  const note = (line: string) => void (process.stderr.isTTY && process.stderr.write(`\x1b[2K${line}\r`));
  note("filling");
  const keys = Number(args.keys);
  const lmdb = await createStoreLoad(lmdbStore, { keys });
  const other = await createStoreLoad(etcdStore, { keys });
  const puts = (writers: number): Comparison => ({
    name: `puts, ${writers} ${writers === 1 ? "writer" : "writers"}`,
    unit: "puts/s",
    measures: {
      lmdb: () => lmdb.putsPerSecond(writers),
      etcd: () => other.putsPerSecond(writers),
      same: () => raw.putsPerSecond(writers, { rows: "same" }),
      one: () => raw.putsPerSecond(writers, { rows: "one" }),
    },
  });
  const results = await runComparisons(
    [
      puts(1),
      puts(64),
      puts(1_000),
      {
        name: `list of ${keys.toLocaleString("en")} keys`,
        unit: "keys/s",
        measures: { lmdb: lmdb.listedPerSecond, etcd: other.listedPerSecond },
      },
      {
        name: "events to 1,000 watchers",
        unit: "deliveries/s",
        measures: {
          lmdb: () => lmdb.deliveriesPerSecond(1_000),
          etcd: () => other.deliveriesPerSecond(1_000),
        },
      },
    ],
    { rounds: Number(args.rounds), onProgress: note },
  );
  note("");

  const syncMs = await measureSyncMs(join(folder, "sync"));
  console.log(
    `1 KiB values, medians of ${args.rounds} rounds; one write and fdatasync takes ${formatNumber(syncMs)} ms here\n`,
  );
  printTable(
    ["", "unit", "lmdb", "etcd", "lmdb/etcd", "lmdb alone, same rows", "overhead", "lmdb alone, one row"],
    results.map(({ name, unit, medians }) => {
      const { lmdb = Number.NaN, etcd = Number.NaN, same = Number.NaN, one = Number.NaN } = medians;
      return [
        name,
        unit,
        ...[lmdb, etcd].map(formatNumber),
        times(lmdb / etcd),
        formatNumber(same),
        times(same / lmdb),
        formatNumber(one),
      ];
    }),
  );
}

function times(ratio: number): string {
  return Number.isNaN(ratio) ? "-" : `${ratio.toFixed(2)}x`;
}

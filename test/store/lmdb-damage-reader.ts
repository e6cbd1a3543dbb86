// Damages copies of a store, one seed after the other, and prints the outcome for each. A separate process,
// since a data file that gets past the checks could end it.
import { mkdirSync, readFileSync, rmSync, writeFileSync, writeSync } from "node:fs";
import { join } from "node:path";
import { openLmdbStore } from "../../src/store/lmdb/lmdb-store.ts";
import { isStoreError, type Store } from "../../src/store/store.ts";
import { createRandom, damages } from "./lmdb-damage.ts";
import { digest, writeALittle } from "./lmdb-damage-sample.ts";

const [file = "", directory = "", from, to] = process.argv.slice(2);
const sound = withoutRoom(readFileSync(file));
const names = Object.keys(damages);

await report("sound", sound);
for (let seed = Number(from); seed < Number(to); seed++) {
  const name = names[seed % names.length] ?? "";
  const bytes = Buffer.from(sound);
  damages[name]?.(bytes, createRandom(seed));
  await report(`${seed}`, bytes);
}

/** One line: the label, then digests of all that could be read and of the same after some writes, or the error. */
async function report(label: string, bytes: Buffer): Promise<void> {
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory);
  writeFileSync(join(directory, "store.mdb"), bytes);
  writeSync(1, `${label}:`);
  try {
    const before = await withStore(digest);
    await withStore((store) => writeALittle(store, 4));
    writeSync(1, `${before} ${await withStore(digest)}\n`);
  } catch (error) {
    writeSync(1, `${isStoreError(error) ? `${error.code} ${error.message}` : `unexpected ${error}`}\n`);
  }
}

async function withStore<T>(use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openLmdbStore({ directory });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Without the zeros at the end that the file keeps for later: damage there is none. */
function withoutRoom(bytes: Buffer): Buffer {
  const pageSize = 4_096;
  let end = bytes.length;
  while (bytes.subarray(end - pageSize, end).every((byte) => byte === 0)) end -= pageSize;
  return bytes.subarray(0, end);
}

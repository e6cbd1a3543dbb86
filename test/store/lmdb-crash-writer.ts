// The process that lmdb-crash.test kills. Says on standard output what it is about to write, and what was answered.
import { writeSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { openLmdbStore } from "../../src/store/lmdb/lmdb-store.ts";
import type { Entry, Store } from "../../src/store/store.ts";
import { crashValue, type Report, sharedKey } from "./lmdb-crash-report.ts";

const writers = 32;
const keysPerWriter = 4;

const [directory = "", run = ""] = process.argv.slice(2);
const store = await openLmdbStore({ directory });
say({ kind: "ready" });
await Promise.all([
  compactForever(store),
  ...Array.from({ length: writers }, (_, writer) => writeForever(writer)),
]);

/** Puts one write after another, most on keys that no other writer has. */
async function writeForever(writer: number): Promise<void> {
  for (let sequence = 1; ; sequence++) {
    const isShared = Math.random() < 0.1;
    const key = isShared ? sharedKey : `/own/${writer}-${Math.floor(Math.random() * keysPerWriter)}`;
    const id = `${run}.${writer}.${sequence}`;
    const current = await store.get(key);
    const deletes = current !== undefined && Math.random() < 0.25;
    say({ kind: "issued", id, key, deletes });
    const revision = deletes ? await remove(current) : await put(key, id, current);
    say({ kind: "answered", id, revision });
  }
}

async function put(key: string, id: string, current: Entry | undefined): Promise<number | undefined> {
  const value = crashValue(key, id);
  const result = current
    ? await store.update(key, value, { ifRevision: current.revision })
    : await store.create(key, value);
  return "revision" in result ? result.revision : undefined;
}

async function remove(current: Entry): Promise<number | undefined> {
  const result = await store.delete(current.key, { ifRevision: current.revision });
  return "revision" in result ? result.revision : undefined;
}

async function compactForever(target: Store): Promise<void> {
  for (;;) {
    await delay(Math.random() * 60);
    const current = await target.currentRevision();
    await target.compact(Math.max(1, current - Math.floor(Math.random() * 300)));
  }
}

function say(report: Report): void {
  writeSync(1, `${JSON.stringify(report)}\n`);
}

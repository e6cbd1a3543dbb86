import assert from "node:assert/strict";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { openLmdbStore } from "../../src/store/lmdb/lmdb-store.ts";
import { checkLmdbFile } from "../../src/store/lmdb/verify/check-file.ts";
import { type Entry, eventKey, firstRevision, type Store, type StoreEvent } from "../../src/store/store.ts";
import { crashValue, type Report } from "./lmdb-crash-report.ts";

type Entries = ReadonlyMap<string, Entry>;

export interface Known {
  /** All entries, and the revision, when the store was last verified. */
  entries: Entries;
  revision: number;
}

interface Said {
  issued: ReadonlyMap<string, Extract<Report, { kind: "issued" }>>;
  /** The revisions of the answers; undefined where the write lost a race. */
  answers: ReadonlyMap<string, number | undefined>;
}

/** Opens the store as the killed writer left it and holds it against what the writer had said. */
export async function verifyAfterCrash(
  directory: string,
  { before, reports }: { before: Known; reports: readonly Report[] },
): Promise<Known> {
  const bounds = checkLmdbFile(join(directory, "store.mdb"));
  const store = await openLmdbStore({ directory });
  try {
    const said = collect(reports);
    const present = await readAll(store);
    const past = await readAll(store, bounds.compactedRevision);
    const events = await readEvents(store, { after: bounds.compactedRevision, to: bounds.lastRevision });
    const first = Math.max(bounds.compactedRevision, firstRevision) + 1;
    assert.equal(events.length, bounds.lastRevision - first + 1);
    for (const [i, event] of events.entries()) assert.equal(event.revision, first + i);

    assertSame(replay(past, events), present, "the past replayed and the present");
    if (bounds.compactedRevision <= before.revision) {
      assertSame(
        await readAll(store, before.revision),
        before.entries,
        "the past before and after the crash",
      );
    }
    checkAnswers(said, events);
    checkNothingForeign(
      said,
      events.filter((event) => event.revision > before.revision),
    );
    checkPresent(said, before.entries, present);
    return await writeAndWatch(store, bounds.compactedRevision);
  } finally {
    await store.close();
  }
}

function collect(reports: readonly Report[]): Said {
  const issued = reports.filter((report) => report.kind === "issued");
  const answered = reports.filter((report) => report.kind === "answered");
  return {
    issued: new Map(issued.map((report) => [report.id, report])),
    answers: new Map(answered.map((report) => [report.id, report.revision])),
  };
}

/** Every answered write is in the log, unless compacted, at the revision of its answer. */
function checkAnswers({ issued, answers }: Said, events: readonly StoreEvent[]): void {
  const first = events[0]?.revision ?? Number.POSITIVE_INFINITY;
  for (const [id, revision] of answers) {
    if (revision === undefined || revision < first) continue;
    const event = events[revision - first];
    assert(event, `write ${id} was answered with ${revision} and is lost`);
    const found = event.kind === "put" ? idOf(event.entry) : undefined;
    const { key, deletes } = issued.get(id) ?? {};
    assert.deepEqual([eventKey(event), found], [key, deletes ? undefined : id]);
  }
}

/** Every new event is of a write that was issued, and whole. */
function checkNothingForeign({ issued }: Said, events: readonly StoreEvent[]): void {
  const writes = [...issued.values()];
  const seen = new Set<string>();
  for (const event of events) {
    if (event.kind === "delete") {
      assert(writes.some(({ key, deletes }) => deletes && key === event.key));
      continue;
    }
    const { key, value } = event.entry;
    const id = idOf(event.entry) ?? "";
    assert.equal(issued.get(id)?.key, key, `${id} was never written`);
    assert(value.equals(crashValue(key, id)), `the value of ${id} is not what was written`);
    assert(!seen.has(id), `${id} happened twice`);
    seen.add(id);
  }
}

/** Each key is as its last answered write left it, or as one would that was issued and not answered. */
function checkPresent({ issued, answers }: Said, before: Entries, present: Entries): void {
  const writes = [...issued.values()];
  for (const key of new Set([...before.keys(), ...present.keys(), ...writes.map((write) => write.key)])) {
    const possible: (string | undefined)[] = [];
    let settled = { revision: 0, left: idOf(before.get(key)) };
    for (const { id, deletes } of writes.filter((write) => write.key === key)) {
      const left = deletes ? undefined : id;
      const revision = answers.get(id) ?? 0;
      if (!answers.has(id)) possible.push(left);
      else if (revision > settled.revision) settled = { revision, left };
    }
    possible.push(settled.left);
    const found = idOf(present.get(key));
    assert(possible.includes(found), `${key} is ${found}, but may only be ${possible.join(" or ")}`);
  }
}

/** The store takes writes again, and a watch goes from the oldest kept revision on into the present. */
async function writeAndWatch(store: Store, compactedRevision: number): Promise<Known> {
  const revision = (await store.currentRevision()) + 1;
  const watched = readEvents(store, { after: compactedRevision, to: revision });
  const current = await store.get("/check");
  const value = Buffer.from(`check.${revision} `);
  if (current) await store.update("/check", value, { ifRevision: current.revision });
  else await store.create("/check", value);
  const last = (await watched).at(-1);
  assert.equal(last?.kind === "put" && idOf(last.entry), `check.${revision}`);
  return { entries: await readAll(store), revision };
}

async function readAll(store: Store, atRevision?: number): Promise<Entries> {
  const { entries } = await store.list("/", { atRevision });
  return new Map(entries.map((entry) => [entry.key, entry]));
}

async function readEvents(store: Store, { after, to }: { after: number; to: number }): Promise<StoreEvent[]> {
  const events: StoreEvent[] = [];
  const done = new AbortController();
  if (to <= Math.max(after, firstRevision)) return events;
  for await (const event of store.watch("/", { fromRevision: after + 1, signal: done.signal })) {
    events.push(event);
    if (event.revision >= to) break;
  }
  return events;
}

function replay(past: Entries, events: readonly StoreEvent[]): Entries {
  const entries = new Map(past);
  for (const event of events) {
    assert.equal(describe(event.previous), describe(entries.get(eventKey(event))));
    if (event.kind === "put") entries.set(event.entry.key, event.entry);
    else entries.delete(event.key);
  }
  return entries;
}

function assertSame(actual: Entries, expected: Entries, what: string): void {
  const lines = (entries: Entries) => [...entries.values()].map(describe).sort();
  assert.deepEqual(lines(actual), lines(expected), what);
}

/** Short enough to compare thousands, and says which write it is. */
function describe(entry: Entry | undefined): string {
  return entry ? `${entry.key}@${entry.revision} ${idOf(entry)} ${crc32(entry.value)}` : "nothing";
}

function idOf(entry: Entry | undefined): string | undefined {
  return entry?.value.toString("latin1", 0, entry.value.indexOf(" "));
}

import type { Entry, ListPage } from "../store.ts";

type Page = Pick<ListPage, "entries" | "more">;

/** The first `limit` entries. */
export function readPage(present: Iterable<Entry>, limit: number): Page {
  const entries: Entry[] = [];
  for (const entry of present) {
    if (entries.length >= limit) return { entries, more: true };
    entries.push(entry);
  }
  return { entries, more: false };
}

/** The first `limit` entries as they were before the changes in `undo`: the past is the present with the log undone. */
export function readPastPage(
  present: Iterable<Entry>,
  undo: ReadonlyMap<string, Entry | undefined>,
  options: { limit: number; after: string | undefined },
): Page {
  const restored = [...undo.values()]
    .filter((entry) => entry !== undefined)
    .filter((entry) => options.after === undefined || entry.key > options.after)
    .sort((a, b) => (a.key < b.key ? -1 : 1));
  return readPage(merge(unchanged(present, undo), restored), options.limit);
}

function* unchanged(present: Iterable<Entry>, undo: ReadonlyMap<string, unknown>): Generator<Entry> {
  for (const entry of present) if (!undo.has(entry.key)) yield entry;
}

/** Two runs of entries in key order, with no key in both, as one. */
function* merge(left: Iterable<Entry>, right: readonly Entry[]): Generator<Entry> {
  let next = 0;
  for (const entry of left) {
    for (let other = right[next]; other && other.key < entry.key; other = right[++next]) yield other;
    yield entry;
  }
  yield* right.slice(next);
}

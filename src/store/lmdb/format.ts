import { type Mark, noNote } from "./row.ts";

/** The tables of the data file, with the keys of their rows. row.ts says what stands in them. */
export interface TableKeys {
  /** The keys that there are now; the mark of each is the revision that wrote its value. */
  present: string;
  /** By revision: the events since the last compaction, and of those before it the ones whose value is still needed. */
  log: number;
  /** Marks about the file itself. */
  meta: string;
}

export type TableName = keyof TableKeys;
export const tableNames = ["present", "log", "meta"] as const;

/** In `meta`: what the file is, written once. The revision is the version of the format. */
export const formatMark: Mark = { key: "format", note: Buffer.from("kindling-store"), revision: 2 };

/** In `meta`: reads and watches reach back to this revision. */
export const compactedMark = (revision: number): Mark => ({ key: "compacted", note: noNote, revision });

/** In `meta`: rows that no revision after this one needs are gone. It follows the one before, in small steps. */
export const droppedMark = (revision: number): Mark => ({ key: "dropped", note: noNote, revision });

export interface KeyEncoder<K> {
  /** Answers with the end of what it wrote. */
  writeKey(key: K, target: Buffer, start: number): number;
  readKey(source: Buffer, start: number, end: number): K;
}

export const textKeys: KeyEncoder<string> = {
  writeKey: (key, target, start) => start + target.write(key, start, "latin1"),
  readKey: (source, start, end) => source.toString("latin1", start, end),
};

export const revisionKeyBytes = 6;

/** Byte order is the order of revisions. */
export const revisionKeys: KeyEncoder<number> = {
  writeKey: (key, target, start) => target.writeUIntBE(key, start, revisionKeyBytes),
  readKey: (source, start) => source.readUIntBE(start, revisionKeyBytes),
};

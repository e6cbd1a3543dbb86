import type { Entry } from "./store.ts";

/** The tables of the data file, with the keys of their rows. lmdb-row says what stands in them. */
export interface TableKeys {
  /** The entries that there are now, by key. */
  present: string;
  /** The events since the last compaction, and perhaps some older, by revision. */
  log: number;
  /** Two entries about the file itself. */
  meta: string;
}

export type TableName = keyof TableKeys;
export const tableNames = ["present", "log", "meta"] as const;

/** In `meta`: what the file is, written once. The revision is the version of the format. */
export const formatEntry: Entry = { key: "format", value: Buffer.from("kindling-store"), revision: 1 };

/** In `meta`: the entry whose revision is the one up to which events were dropped. */
export const compactedKey = "compacted";

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

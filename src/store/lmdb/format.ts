import { type Mark, noNote } from "./row.ts";

/** Tables of the data file and the types of their keys. The row formats are defined in row.ts. */
export interface TableKeys {
  /** Current keys, each with the revision that wrote its value. */
  present: string;
  /** Events by revision: all since the last compaction, and older ones whose value is still current. */
  log: number;
  /** Marks about the file itself. */
  meta: string;
}

export type TableName = keyof TableKeys;
export const tableNames = ["present", "log", "meta"] as const;

/** Mark in `meta` that identifies the file, written once. Its revision is the format version. */
export const formatMark: Mark = { key: "format", note: Buffer.from("kindling-store"), revision: 2 };

/** Mark in `meta`: oldest revision for reads and watches. */
export const compactedMark = (revision: number): Mark => ({ key: "compacted", note: noNote, revision });

/** Mark in `meta`: obsolete rows up to this revision are deleted. It follows `compacted` in small steps. */
export const droppedMark = (revision: number): Mark => ({ key: "dropped", note: noNote, revision });

export interface KeyEncoder<K> {
  /** Returns the end offset of the written key. */
  writeKey(key: K, target: Buffer, start: number): number;
  readKey(source: Buffer, start: number, end: number): K;
}

export const textKeys: KeyEncoder<string> = {
  writeKey: (key, target, start) => start + target.write(key, start, "latin1"),
  readKey: (source, start, end) => source.toString("latin1", start, end),
};

export const revisionKeyBytes = 6;

/** Encodes revisions so that byte order is numeric order. */
export const revisionKeys: KeyEncoder<number> = {
  writeKey: (key, target, start) => target.writeUIntBE(key, start, revisionKeyBytes),
  readKey: (source, start) => source.readUIntBE(start, revisionKeyBytes),
};

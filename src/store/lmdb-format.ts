import type { Entry } from "./store.ts";

/** The tables of the data file; lmdb-row says what stands in them. */
export const tableNames = ["present", "log", "meta"] as const;
export type TableName = (typeof tableNames)[number];

/** In `meta`: what the file is, written once. The revision is the version of the format. */
export const formatEntry: Entry = { key: "format", value: Buffer.from("kindling-store"), revision: 1 };

/** In `meta`: an entry whose revision is the one up to which events were dropped. */
export const compactedKey = "compacted";

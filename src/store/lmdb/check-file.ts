import { firstRevision } from "../store.ts";
import type { StoreError } from "../store-error.ts";
import {
  compactedMark,
  droppedMark,
  formatMark,
  revisionKeyBytes,
  revisionKeys,
  type TableName,
  tableNames,
  textKeys,
} from "./format.ts";
import { readFreePages } from "./free-pages.ts";
import { foreignFile } from "./lmdb-error.ts";
import { nodeFlag, readTree, type Tree, treeBytes } from "./page-layout.ts";
import { openPageReader, type PageReader } from "./page-reader.ts";
import { decodeEvent, decodeMark, type EventRow, type Mark } from "./row.ts";
import { walkTree } from "./walk-tree.ts";

/** What a sound data file says about its past. */
export interface LogBounds {
  readonly compactedRevision: number;
  readonly lastRevision: number;
  /** Rows that no revision after this one needs are gone; never behind the compacted revision. */
  readonly droppedRevision: number;
}

/**
 * Reads all of a data file before LMDB sees it, and throws when it is damaged or not ours. LMDB maps the file and
 * believes what stands there: from a damaged page it would crash, or answer that keys do not exist.
 */
export function checkLmdbFile(file: string): LogBounds {
  const pages = openPageReader(file);
  try {
    const tables = readTables(file, pages);
    const past = readMeta(file, pages, tables);
    const current = checkLog(pages, tables.log, past);
    checkPresent(pages, tables.present, current.revisions);
    checkFreePages(pages);
    return { ...past, lastRevision: current.lastRevision };
  } finally {
    pages.close();
  }
}

type Tables = Record<TableName, Tree>;

function readTables(file: string, pages: PageReader): Tables {
  const trees = new Map<string, Tree>();
  const written = walkTree(pages, pages.meta.main, {
    name: "main",
    compare: Buffer.compare,
    visit: ({ key, flags }, value) => {
      if (flags === nodeFlag.tree && value.length === treeBytes)
        trees.set(key.toString("latin1"), readTree(value));
    },
  });
  // Every transaction writes this root: else the meta page is older than it says.
  if (written !== pages.meta.transaction) pages.damaged("its newest meta page");
  // The lmdb package keeps the NUL at the end of a name.
  const [present, log, meta] = tableNames.map((name) => trees.get(`${name}\0`));
  if (!present || !log || !meta) throw notAStore(file);
  if ([present, log, meta, pages.meta.main].some((tree) => tree.flags !== 0))
    pages.damaged("the kind of a table");
  return { present, log, meta };
}

type Past = Omit<LogBounds, "lastRevision">;

/** Throws when the file has not our format. */
function readMeta(file: string, pages: PageReader, tables: Tables): Past {
  const marks = new Map<string, Mark>();
  visitMarks(pages, tables.meta, "meta", (mark) => {
    // The note is good until the next page is read.
    marks.set(mark.key, { ...mark, note: Buffer.from(mark.note) });
  });
  const format = marks.get(formatMark.key);
  if (!format?.note.equals(formatMark.note)) throw notAStore(file);
  if (format.revision !== formatMark.revision) {
    const age = format.revision > formatMark.revision ? "a newer" : "an older";
    const known = `this one reads format ${formatMark.revision}`;
    throw foreignFile(file, `has format ${format.revision}, from ${age} Kindling; ${known}`);
  }
  const revisionOf = ({ key }: Mark) => marks.get(key)?.revision ?? 0;
  const compactedRevision = revisionOf(compactedMark(0));
  const droppedRevision = Math.max(revisionOf(droppedMark(0)), firstRevision);
  if (droppedRevision > Math.max(compactedRevision, firstRevision)) {
    pages.damaged(
      `it dropped the past up to revision ${droppedRevision}, and kept it from ${compactedRevision} on`,
    );
  }
  return { compactedRevision, droppedRevision };
}

function visitMarks(pages: PageReader, tree: Tree, name: TableName, visit: (mark: Mark) => void): void {
  walkTree(pages, tree, {
    name,
    compare: Buffer.compare,
    visit: ({ key }, value) => {
      const text = textKeys.readKey(key, 0, key.length);
      visit(decodeMark(text, value) ?? pages.damaged(`the mark of ${JSON.stringify(text)} (${name})`));
    },
  });
}

interface Current {
  readonly lastRevision: number;
  /** By key: the revision that wrote the value that it has now. */
  readonly revisions: ReadonlyMap<string, number>;
}

/** Plays the log back: what it ends with is the present. */
function checkLog(pages: PageReader, log: Tree, { compactedRevision, droppedRevision }: Past): Current {
  const revisions = new Map<string, number>();
  let lastRevision = droppedRevision;

  function visitEvent({ key, revision, previousRevision, entry }: EventRow): void {
    const before = revisions.get(key) ?? 0;
    if (revision <= droppedRevision) {
      // Only for the value that its key has had since: one at most, and no deletion.
      if (!entry || before > 0)
        pages.damaged(`the event of revision ${revision} is there, though it was dropped`);
    } else {
      if (revision !== lastRevision + 1) pages.damaged(missingEvents(lastRevision, revision));
      if (previousRevision !== before) pages.damaged(`the value before revision ${revision} is missing`);
      lastRevision = revision;
    }
    if (entry) revisions.set(key, revision);
    else revisions.delete(key);
  }

  walkTree(pages, log, {
    name: "log",
    compare: Buffer.compare,
    visit: ({ key }, value) => {
      if (key.length !== revisionKeyBytes) pages.damaged(`the event after revision ${lastRevision}`);
      const revision = revisionKeys.readKey(key, 0, key.length);
      visitEvent(decodeEvent(revision, value) ?? pages.damaged(`the event of revision ${revision}`));
    },
  });
  if (lastRevision < compactedRevision) pages.damaged(missingEvents(lastRevision, compactedRevision + 1));
  return { lastRevision, revisions };
}

function missingEvents(after: number, before: number): string {
  return `the events between revisions ${after} and ${before} are missing`;
}

function checkPresent(pages: PageReader, present: Tree, revisions: ReadonlyMap<string, number>): void {
  let keys = 0;
  visitMarks(pages, present, "present", ({ key, revision }) => {
    keys++;
    if (revisions.get(key) !== revision)
      pages.damaged(`the event of revision ${revision}, which wrote ${JSON.stringify(key)}, is missing`);
  });
  if (keys !== revisions.size) pages.damaged(`it has ${keys} keys, and values of ${revisions.size}`);
}

/** A page that is in use and free would be overwritten by some later transaction. */
function checkFreePages(pages: PageReader): void {
  for (const run of readFreePages(pages)) {
    if (!pages.areUnused(run.page, run.pages)) pages.damaged(`page ${run.page} is in use and listed as free`);
  }
}

function notAStore(file: string): StoreError {
  return foreignFile(file, "is an LMDB file, but not a Kindling store");
}

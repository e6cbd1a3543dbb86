import { firstRevision, type StoreError } from "../../store.ts";
import { unrecognizedFile } from "../lmdb-error.ts";
import {
  compactedMark,
  decodeEvent,
  decodeMark,
  droppedMark,
  type EventRow,
  formatMark,
  type Mark,
  revisionKeyBytes,
  revisionKeys,
  type TableName,
  tableNames,
  textKeys,
} from "../tables.ts";
import { nodeFlag, readTree, type Tree, treeBytes } from "./page-layout.ts";
import { openPageReader, type PageReader, readFreePages, walkTree } from "./walk-tree.ts";

/** Revision bounds of a valid data file. */
export interface LogBounds {
  readonly compactedRevision: number;
  readonly lastRevision: number;
  /** Obsolete rows up to this revision are deleted; never greater than the compacted revision. */
  readonly droppedRevision: number;
}

/**
 * Verifies a data file completely before LMDB opens it, and throws when it is damaged or not a Kindling store. LMDB maps
 * the file without validation: a damaged page would crash it, or make keys disappear.
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
  // Every transaction writes this root; otherwise the meta page is outdated.
  if (written !== pages.meta.transaction) pages.damaged("its newest meta page");
  // The lmdb package includes the terminating NUL in the name.
  const [present, log, meta] = tableNames.map((name) => trees.get(`${name}\0`));
  if (!present || !log || !meta) throw notAStore(file);
  if ([present, log, meta, pages.meta.main].some((tree) => tree.flags !== 0))
    pages.damaged("the kind of a table");
  return { present, log, meta };
}

type Past = Omit<LogBounds, "lastRevision">;

/** Reads the marks of the file. Throws when its format is not ours. */
function readMeta(file: string, pages: PageReader, tables: Tables): Past {
  const marks = new Map<string, Mark>();
  visitMarks(pages, tables.meta, "meta", (mark) => {
    // The note is valid until the next page is read.
    marks.set(mark.key, { ...mark, note: Buffer.from(mark.note) });
  });
  const format = marks.get(formatMark.key);
  if (!format?.note.equals(formatMark.note)) throw notAStore(file);
  if (format.revision !== formatMark.revision) {
    const age = format.revision > formatMark.revision ? "a newer" : "an older";
    const known = `this version reads format ${formatMark.revision}`;
    throw unrecognizedFile(
      file,
      `has format ${format.revision}, written by ${age} version of Kindling; ${known}`,
    );
  }
  const revisionOf = ({ key }: Mark) => marks.get(key)?.revision ?? 0;
  const compactedRevision = revisionOf(compactedMark(0));
  const droppedRevision = Math.max(revisionOf(droppedMark(0)), firstRevision);
  if (droppedRevision > Math.max(compactedRevision, firstRevision)) {
    pages.damaged(
      `revisions up to ${droppedRevision} are dropped, although they are kept from ${compactedRevision} on`,
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
  /** Revision of the current value, by key. */
  readonly revisions: ReadonlyMap<string, number>;
}

/** Replays the log to compute the current revisions. */
function checkLog(pages: PageReader, log: Tree, { compactedRevision, droppedRevision }: Past): Current {
  const revisions = new Map<string, number>();
  let lastRevision = droppedRevision;

  function visitEvent({ key, revision, previousRevision, entry }: EventRow): void {
    const before = revisions.get(key) ?? 0;
    if (revision <= droppedRevision) {
      // Kept only as the current value of its key: at most one row, and no deletion.
      if (!entry || before > 0)
        pages.damaged(`the event of revision ${revision} exists although it was dropped`);
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
  if (keys !== revisions.size) pages.damaged(`it has ${keys} keys, but values of ${revisions.size}`);
}

/** A page that is both in use and free would be overwritten by a later transaction. */
function checkFreePages(pages: PageReader): void {
  for (const run of readFreePages(pages)) {
    if (!pages.areUnused(run.page, run.pages)) pages.damaged(`page ${run.page} is in use and listed as free`);
  }
}

function notAStore(file: string): StoreError {
  return unrecognizedFile(file, "is an LMDB file, but not a Kindling store");
}

import { foreignFile } from "./lmdb-errors.ts";
import {
  compactedKey,
  formatEntry,
  revisionKeyBytes,
  revisionKeys,
  type TableName,
  tableNames,
  textKeys,
} from "./lmdb-format.ts";
import { readFreePages } from "./lmdb-free-pages.ts";
import { nodeFlag, readTree, type Tree, treeBytes } from "./lmdb-page-layout.ts";
import { openPageReader, type PageReader } from "./lmdb-page-reader.ts";
import { decodeEntry, decodeEvent } from "./lmdb-row.ts";
import { walkTree } from "./lmdb-tree.ts";
import { type Entry, firstRevision } from "./store.ts";
import type { StoreError } from "./store-error.ts";

/** What a sound data file says about its past. */
export interface LogBounds {
  readonly compactedRevision: number;
  readonly lastRevision: number;
  /** The revision of the oldest event in the file; one more than the last where there is none. */
  readonly oldestEvent: number;
}

/**
 * Reads all of a data file before LMDB sees it, and throws when it is damaged or not ours. LMDB maps the file and
 * believes what stands there: from a damaged page it would crash, or answer that keys do not exist.
 */
export function checkLmdbFile(file: string): LogBounds {
  const pages = openPageReader(file);
  try {
    const tables = readTables(file, pages);
    const compactedRevision = readMeta(file, pages, tables);
    const bounds = checkLog(pages, tables.log, compactedRevision);
    visitEntries(pages, tables, {
      name: "present",
      visit: ({ revision }) => {
        if (revision > bounds.lastRevision)
          pages.damaged(`the events up to revision ${revision} are missing`);
      },
    });
    checkFreePages(pages);
    return bounds;
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

/** The revision up to which events were dropped. Throws when the file has not our format. */
function readMeta(file: string, pages: PageReader, tables: Tables): number {
  let isOurs = false;
  let version = 0;
  let compactedRevision = 0;
  visitEntries(pages, tables, {
    name: "meta",
    visit: ({ key, value, revision }) => {
      if (key === compactedKey) compactedRevision = revision;
      if (key !== formatEntry.key) return;
      isOurs = value.equals(formatEntry.value);
      version = revision;
    },
  });
  if (!isOurs) throw notAStore(file);
  if (version > formatEntry.revision) {
    const known = `this one knows formats up to ${formatEntry.revision}`;
    throw foreignFile(file, `has format ${version}, from a newer Kindling; ${known}`);
  }
  return compactedRevision;
}

function visitEntries(
  pages: PageReader,
  tables: Tables,
  { name, visit }: { name: "present" | "meta"; visit(entry: Entry): void },
): void {
  walkTree(pages, tables[name], {
    name,
    compare: Buffer.compare,
    visit: ({ key }, value) => {
      const text = textKeys.readKey(key, 0, key.length);
      visit(decodeEntry(text, value) ?? pages.damaged(`the value of ${JSON.stringify(text)} (${name})`));
    },
  });
}

function checkLog(pages: PageReader, log: Tree, compactedRevision: number): LogBounds {
  const nothingBefore = Math.max(compactedRevision, firstRevision);
  let oldestEvent: number | undefined;
  let lastRevision: number | undefined;
  walkTree(pages, log, {
    name: "log",
    compare: Buffer.compare,
    visit: ({ key }, value) => {
      if (key.length !== revisionKeyBytes) pages.damaged(`the event after revision ${lastRevision}`);
      const revision = revisionKeys.readKey(key, 0, key.length);
      if (!decodeEvent(revision, value)) pages.damaged(`the event of revision ${revision}`);
      oldestEvent ??= revision;
      if (revision !== (lastRevision ?? revision - 1) + 1) {
        pages.damaged(`the events between revisions ${lastRevision} and ${revision} are missing`);
      }
      lastRevision = revision;
    },
  });
  if (oldestEvent !== undefined && oldestEvent > nothingBefore + 1) {
    pages.damaged(`the events between revisions ${nothingBefore} and ${oldestEvent} are missing`);
  }
  const last = Math.max(lastRevision ?? 0, nothingBefore);
  return { compactedRevision, lastRevision: last, oldestEvent: oldestEvent ?? last + 1 };
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

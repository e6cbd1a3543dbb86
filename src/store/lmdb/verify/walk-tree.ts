import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { corruptFile, unrecognizedFile } from "../lmdb-error.ts";
import {
  type LeafNode,
  type MetaPage,
  metaBytes,
  nodeFlag,
  overflowHeaderBytes,
  pageFlag,
  readBranchNodes,
  readFreeRuns,
  readLeafNodes,
  readMetaPage,
  readOverflowLocation,
  readPageHeader,
  readUint64,
  type Tree,
} from "./page-layout.ts";

interface WalkOptions {
  name: string;
  compare(a: Buffer, b: Buffer): number;
  visit(node: LeafNode, value: Buffer): void;
}

const maxDepth = 32;

/**
 * Visits the leaf nodes of a tree in key order. Throws when LMDB cannot have written the tree. Returns the transaction
 * that wrote the root.
 */
export function walkTree(pages: PageReader, tree: Tree, { name, compare, visit }: WalkOptions): number {
  const found = { branchPages: 0, leafPages: 0, overflowPages: 0, entries: 0 };
  let lastKey: Buffer | undefined;
  let lowerBound: Buffer | undefined;
  let rootTransaction = 0;

  function walk(page: number, depth: number): void {
    const bytes = pages.read(page, depth);
    const isLeaf = depth === tree.depth;
    const { flags, transaction } = readPageHeader(bytes);
    if (depth === 1) rootTransaction = transaction;
    if (flags !== (isLeaf ? pageFlag.leaf : pageFlag.branch))
      pages.damaged(`the kind of page ${page} (${name})`);
    if (isLeaf) walkLeaf(page, bytes);
    else walkBranch(page, bytes, depth);
  }

  function walkBranch(page: number, bytes: Buffer, depth: number): void {
    found.branchPages++;
    const nodes = readBranchNodes(bytes) ?? pages.damaged(`page ${page} (${name})`);
    for (const [i, { key, child }] of nodes.entries()) {
      // The first child has no lower bound; its key is never read.
      if (i > 0) {
        if (lastKey && compare(lastKey, key) >= 0)
          pages.damaged(`the order of keys on page ${page} (${name})`);
        lowerBound = key;
      }
      walk(child, depth + 1);
    }
  }

  function walkLeaf(page: number, bytes: Buffer): void {
    found.leafPages++;
    for (const node of readLeafNodes(bytes) ?? pages.damaged(`page ${page} (${name})`)) {
      const { key } = node;
      const isInOrder =
        (!lastKey || compare(lastKey, key) < 0) && (!lowerBound || compare(lowerBound, key) <= 0);
      if (!isInOrder) pages.damaged(`the order of keys on page ${page} (${name})`);
      lastKey = key;
      found.entries++;
      if (node.flags & nodeFlag.overflow) found.overflowPages += readOverflowLocation(node.data).pages;
      visit(node, pages.readValue(node));
    }
    // The buffer of this page is reused for the next leaf.
    lastKey = lastKey && Buffer.from(lastKey);
  }

  if (tree.depth > maxDepth) pages.damaged(`the depth of ${name}`);
  if (tree.depth > 0) walk(tree.root, 1);
  const isComplete =
    found.branchPages === tree.branchPages &&
    found.leafPages === tree.leafPages &&
    found.overflowPages === tree.overflowPages &&
    found.entries === tree.entries;
  if (!isComplete) pages.damaged(`the number of pages or rows of ${name}`);
  return rootTransaction;
}

/** Flags of the free list tree: integer keys (MDB_INTEGERKEY) and MDB_NOSUBDIR. */
const freeTreeFlags = 0x4008;

/** Reads the free pages of a data file, in runs. */
export function readFreePages(pages: PageReader): { page: number; pages: number }[] {
  const { free } = pages.meta;
  const runs: { page: number; pages: number }[] = [];
  for (const meta of [pages.meta, pages.olderMeta]) {
    if (meta.free.flags !== freeTreeFlags) pages.damaged("the kind of the list of free pages");
  }
  walkTree(pages, free, {
    name: "free pages",
    compare: (a, b) => readUint64(a, 0) - readUint64(b, 0),
    visit: (_node, value) => runs.push(...(readFreeRuns(value) ?? pages.damaged("the list of free pages"))),
  });
  return runs;
}

export function countFreePages(file: string): number {
  const pages = openPageReader(file);
  try {
    return readFreePages(pages).reduce((sum, run) => sum + run.pages, 0);
  } finally {
    pages.close();
  }
}

/** Pages of the last transaction of a data file. Each may be read once: a page that is referenced twice is damaged. */
export interface PageReader {
  readonly meta: MetaPage;
  /** Meta page of the previous transaction. */
  readonly olderMeta: MetaPage;
  /** The returned bytes are valid until the next page of the same depth is read. */
  read(page: number, depth: number): Buffer;
  /** The returned value is valid until the next one is read. */
  readValue(node: LeafNode): Buffer;
  /** Reports whether none of these pages was read. */
  areUnused(page: number, pages: number): boolean;
  damaged(detail: string): never;
  close(): void;
}

export function openPageReader(file: string): PageReader {
  const handle = openSync(file, "r");
  try {
    return createPageReader(file, handle);
  } catch (error) {
    closeSync(handle);
    throw error;
  }
}

function createPageReader(file: string, handle: number): PageReader {
  const { size } = fstatSync(handle);
  const { newest: meta, older: olderMeta } = readMetaPages(file, handle);
  // LMDB may end a file shortly before its last page when that page is free.
  if (meta.lastPage > 2 * (size / meta.pageSize) + 65_536) {
    throw corruptFile(file, `it ends after ${size} bytes, before page ${meta.lastPage}`);
  }
  const used = new Uint8Array(meta.lastPage + 1);
  // Buffers are reused: allocating one per page would cost more than reading it.
  const buffers: Buffer[] = [];

  function damaged(detail: string): never {
    throw corruptFile(file, detail);
  }

  function areUnused(page: number, pages: number): boolean {
    return page > 1 && page + pages <= used.length && !used.subarray(page, page + pages).includes(1);
  }

  function reuse(slot: number, pages: number): Buffer {
    const length = pages * meta.pageSize;
    let buffer = buffers[slot];
    if (!buffer || buffer.length < length) {
      buffer = Buffer.allocUnsafe(length);
      buffers[slot] = buffer;
    }
    return buffer.subarray(0, length);
  }

  function read(page: number, buffer: Buffer): Buffer {
    const pages = buffer.length / meta.pageSize;
    if (!areUnused(page, pages)) damaged(`page ${page} is used twice or does not exist`);
    used.fill(1, page, page + pages);
    if (readSync(handle, buffer, 0, buffer.length, page * meta.pageSize) < buffer.length) {
      damaged(`it ends after ${size} bytes, before page ${page + pages - 1}`);
    }
    const header = readPageHeader(buffer);
    if (header.page !== page || header.transaction > meta.transaction)
      damaged(`page ${page} has the header of another page`);
    return buffer;
  }

  function readValue(node: LeafNode): Buffer {
    if ((node.flags & nodeFlag.overflow) === 0) return node.data;
    const { page, transaction, pages } = readOverflowLocation(node.data);
    const expected = Math.ceil((overflowHeaderBytes + node.valueBytes) / meta.pageSize);
    if (pages !== expected || transaction > meta.transaction)
      damaged(`the place of the value on page ${page}`);
    if (!areUnused(page, pages)) damaged(`the place of the value on page ${page}`);
    const bytes = read(page, reuse(0, pages));
    const header = readPageHeader(bytes);
    if (header.flags !== pageFlag.overflow || header.overflowPages !== pages)
      damaged(`the value on page ${page}`);
    return bytes.subarray(overflowHeaderBytes, overflowHeaderBytes + node.valueBytes);
  }

  return {
    meta,
    olderMeta,
    read: (page, depth) => read(page, reuse(depth, 1)),
    readValue,
    areUnused,
    damaged,
    close: () => closeSync(handle),
  };
}

/** Transactions write the two meta pages alternately: that of the last transaction is current. */
export function readMetaPages(file: string, handle: number): { newest: MetaPage; older: MetaPage } {
  const start = readAt(handle, 0, metaBytes);
  if (start.length === 0) throw corruptFile(file, "it is empty");
  const first = readMetaPage(start);
  if (!first) throw unrecognizedFile(file, "is not an LMDB file, or its first page is damaged");
  const second = readMetaPage(readAt(handle, first.pageSize, metaBytes));
  const isSound =
    second?.pageSize === first.pageSize &&
    isPageSize(first.pageSize) &&
    first.transaction % 2 === 0 &&
    Math.abs(first.transaction - second.transaction) === 1;
  if (!isSound) throw corruptFile(file, "its meta pages");
  return first.transaction > second.transaction
    ? { newest: first, older: second }
    : { newest: second, older: first };
}

function isPageSize(size: number): boolean {
  return size >= 512 && size <= 65_536 && Number.isInteger(Math.log2(size));
}

/** Reads up to `bytes` bytes; fewer at the end of the file. */
function readAt(handle: number, at: number, bytes: number): Buffer {
  const buffer = Buffer.allocUnsafe(bytes);
  return buffer.subarray(0, readSync(handle, buffer, 0, bytes, at));
}

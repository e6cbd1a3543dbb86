import {
  type LeafNode,
  nodeFlag,
  pageFlag,
  readBranchNodes,
  readFreeRuns,
  readLeafNodes,
  readOverflowLocation,
  readPageHeader,
  readUint64,
  type Tree,
} from "./page-layout.ts";
import { openPageReader, type PageReader } from "./page-reader.ts";

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

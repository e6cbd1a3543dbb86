import {
  type LeafNode,
  nodeFlag,
  pageFlag,
  readBranchNodes,
  readLeafNodes,
  readOverflowPlace,
  readPageHeader,
  type Tree,
} from "./page-layout.ts";
import type { PageReader } from "./page-reader.ts";

interface WalkOptions {
  name: string;
  compare(a: Buffer, b: Buffer): number;
  visit(node: LeafNode, value: Buffer): void;
}

const maxDepth = 32;

/**
 * Visits the leaf nodes of a tree in key order, and throws when the tree is none that LMDB could have written.
 * Answers with the transaction that wrote its root.
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
      // The first child has no lower bound; whatever key stands there is never read.
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
      if (node.flags & nodeFlag.overflow) found.overflowPages += readOverflowPlace(node.data).pages;
      visit(node, pages.readValue(node));
    }
    // The bytes of this page are about to become those of the next leaf.
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

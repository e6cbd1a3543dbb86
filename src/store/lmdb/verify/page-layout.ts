// Page layout of an LMDB data file (mdb.c of the lmdb package, data format 2, little-endian). The first two pages are
// meta pages: the one with the higher transaction number is current and has the roots of the trees. All others are
// branch and leaf pages of B+ trees, overflow pages for values too large for a leaf, or free.

const headerBytes = 24;
const nodeHeaderBytes = 8;
const magic = 0xbeefc0de;
const dataVersion = 2;

export const metaBytes = 168;
export const treeBytes = 48;
export const overflowHeaderBytes = headerBytes;
export const pageFlag = { branch: 1, leaf: 2, overflow: 4, meta: 8 } as const;
export const nodeFlag = { overflow: 1, tree: 2 } as const;

export interface MetaPage {
  readonly pageSize: number;
  readonly free: Tree;
  readonly main: Tree;
  readonly lastPage: number;
  readonly transaction: number;
}

export interface Tree {
  readonly flags: number;
  readonly depth: number;
  readonly branchPages: number;
  readonly leafPages: number;
  readonly overflowPages: number;
  readonly entries: number;
  readonly root: number;
}

export interface BranchNode {
  readonly key: Buffer;
  readonly child: number;
}

export interface LeafNode {
  readonly key: Buffer;
  readonly flags: number;
  readonly valueBytes: number;
  /** The value, or the location of its overflow pages. */
  readonly data: Buffer;
}

/** Parses a meta page. Returns undefined when the bytes are not a meta page. */
export function readMetaPage(bytes: Buffer): MetaPage | undefined {
  const isMeta =
    bytes.length >= metaBytes &&
    bytes.readUInt16LE(18) === pageFlag.meta &&
    bytes.readUInt32LE(24) === magic &&
    bytes.readUInt32LE(28) === dataVersion;
  if (!isMeta) return undefined;
  return {
    pageSize: bytes.readUInt32LE(48),
    free: readTree(bytes.subarray(48)),
    main: readTree(bytes.subarray(96)),
    lastPage: readUint64(bytes, 144),
    transaction: readUint64(bytes, 152),
  };
}

export function readTree(bytes: Buffer): Tree {
  return {
    flags: bytes.readUInt16LE(4),
    depth: bytes.readUInt16LE(6),
    branchPages: readUint64(bytes, 8),
    leafPages: readUint64(bytes, 16),
    overflowPages: readUint64(bytes, 24),
    entries: readUint64(bytes, 32),
    root: readUint64(bytes, 40),
  };
}

export function readPageHeader(page: Buffer) {
  return {
    page: readUint64(page, 0),
    transaction: readUint64(page, 8),
    flags: page.readUInt16LE(18),
    /** Number of pages of the value, if this is an overflow page. */
    overflowPages: page.readUInt32LE(20),
  };
}

export function readOverflowLocation(data: Buffer) {
  return { page: readUint64(data, 0), transaction: readUint64(data, 8), pages: readUint64(data, 16) };
}

/**
 * Parses a record of the free list: a count, then page numbers, each either single or preceded by the negative length of
 * its run; zeros are gaps. Returns undefined when the record is invalid.
 */
export function readFreeRuns(list: Buffer): { page: number; pages: number }[] | undefined {
  const count = list.length >= 8 ? readUint64(list, 0) : Number.NaN;
  if (!(list.length >= 8 * (count + 1))) return undefined;
  const runs: { page: number; pages: number }[] = [];
  for (let i = 1; i <= count; i++) {
    const entry = Number(list.readBigInt64LE(8 * i));
    if (entry > 0) runs.push({ page: entry, pages: 1 });
    else if (entry < 0 && i < count) runs.push({ page: Number(list.readBigInt64LE(8 * ++i)), pages: -entry });
  }
  return runs;
}

/** Nodes in key order; undefined when they do not exactly fill the used part of the page. */
export function readBranchNodes(page: Buffer): BranchNode[] | undefined {
  return readNodes(page, (at) => ({
    key: page.subarray(at + nodeHeaderBytes, at + nodeHeaderBytes + page.readUInt16LE(at + 6)),
    child: page.readUInt32LE(at) + page.readUInt16LE(at + 4) * 2 ** 32,
    bytes: nodeHeaderBytes + page.readUInt16LE(at + 6),
  }));
}

export function readLeafNodes(page: Buffer): LeafNode[] | undefined {
  return readNodes(page, (at) => {
    const valueBytes = page.readUInt32LE(at);
    const flags = page.readUInt16LE(at + 4);
    const keyEnd = at + nodeHeaderBytes + page.readUInt16LE(at + 6);
    const end = keyEnd + (flags & nodeFlag.overflow ? 24 : valueBytes);
    return {
      key: page.subarray(at + nodeHeaderBytes, keyEnd),
      flags,
      valueBytes,
      data: page.subarray(keyEnd, end),
      bytes: end - at,
    };
  });
}

function readNodes<T extends { bytes: number }>(page: Buffer, readNode: (at: number) => T): T[] | undefined {
  const lower = page.readUInt16LE(20);
  const upper = page.readUInt16LE(22);
  const room = page.length - headerBytes;
  if (lower % 2 !== 0 || lower > upper || upper > room) return undefined;
  const nodes: T[] = [];
  let used = 0;
  for (let i = 0; i < lower; i += 2) {
    const at = headerBytes + page.readUInt16LE(headerBytes + i);
    if (at < headerBytes + upper || at + nodeHeaderBytes > page.length) return undefined;
    const node = readNode(at);
    if (at + node.bytes > page.length) return undefined;
    nodes.push(node);
    used += node.bytes + (node.bytes % 2);
  }
  return used === room - upper ? nodes : undefined;
}

export function readUint64(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { corruptFile, unrecognizedFile } from "../lmdb-error.ts";
import {
  type LeafNode,
  type MetaPage,
  metaBytes,
  nodeFlag,
  overflowHeaderBytes,
  pageFlag,
  readMetaPage,
  readOverflowLocation,
  readPageHeader,
} from "./page-layout.ts";

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

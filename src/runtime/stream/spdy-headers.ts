import { constants, createInflate } from "node:zlib";
import { spdyDictionary, spdyDictionaryId } from "./spdy-dictionary.ts";

/** Far more than the one header that streams are opened with. */
const mostHeaderBytes = 16 * 1_024;
const tooLong = "the headers of a frame are too long";
/** Five streams are ever opened. */
const mostBlocks = 100;

export interface SpdyHeaderReader {
  /** The headers of the next frame that has some: all of a connection's are one compressed stream. */
  read(block: Buffer): Promise<ReadonlyMap<string, string>>;
  close(): void;
}

export function createSpdyHeaderReader(): SpdyHeaderReader {
  const inflate = createInflate({ dictionary: spdyDictionary, flush: constants.Z_SYNC_FLUSH });
  let chunks: Buffer[] = [];
  let size = 0;
  let blocks = 0;
  inflate.on("data", (chunk: Buffer) => {
    size += chunk.length;
    // A few bytes can unpack to very many.
    if (size > mostHeaderBytes) inflate.destroy(new Error(tooLong));
    else chunks.push(chunk);
  });
  const broken = new Promise<never>((_, reject) => {
    inflate.once("error", reject);
    inflate.once("close", () => reject(new Error("the connection is closed")));
  });
  broken.catch(() => {});
  return {
    async read(block) {
      if (++blocks > mostBlocks) throw new Error("too many frames with headers");
      chunks = [];
      size = 0;
      await Promise.race([new Promise((resolve) => inflate.write(block, resolve)), broken]);
      if (size > mostHeaderBytes) throw new Error(tooLong);
      return parseHeaderBlock(Buffer.concat(chunks));
    },
    close: () => inflate.destroy(),
  };
}

/** Throws for lengths that lead out of the block. */
export function parseHeaderBlock(block: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let at = 0;
  const number = () => {
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const text = () => {
    const length = number();
    if (length > block.length - at) throw new Error("a header leads out of its frame");
    at += length;
    return block.toString("utf8", at - length, at);
  };
  for (let left = number(); left > 0; left--) {
    const name = text();
    headers.set(name.toLowerCase(), text());
  }
  return headers;
}

/**
 * Compressed blocks of no headers, as replies have them. They are put together by hand, in deflate's blocks that are
 * stored as they are: the count 0, then the empty block that makes a reader hand out what it has.
 */
export function createEmptyHeaderWriter(): () => Buffer {
  const empty = Buffer.from([0, 4, 0, 0xfb, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
  const start = Buffer.alloc(6);
  // zlib's first bytes: deflate, with the dictionary of this name.
  start.writeUInt16BE(0x78bb, 0);
  start.writeUInt32BE(spdyDictionaryId, 2);
  let first = true;
  return () => {
    const block = first ? Buffer.concat([start, empty]) : empty;
    first = false;
    return block;
  };
}

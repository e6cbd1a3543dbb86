import { constants, createInflate } from "node:zlib";

/** Maximum size of the headers of a frame; streams are opened with one header. */
const maxHeaderBytes = 16 * 1_024;
const tooLong = "the headers of a frame are too long";

export interface SpdyHeaderReader {
  /** Reads the headers of the next frame. All headers of a connection are one compressed stream. */
  read(block: Buffer): Promise<ReadonlyMap<string, string>>;
  close(): void;
}

/** `maxBlocks` limits the number of frames with headers. */
export function createSpdyHeaderReader({ maxBlocks }: { maxBlocks: number }): SpdyHeaderReader {
  const inflate = createInflate({ dictionary: spdyDictionary, flush: constants.Z_SYNC_FLUSH });
  let chunks: Buffer[] = [];
  let size = 0;
  let blocks = 0;
  inflate.on("data", (chunk: Buffer) => {
    size += chunk.length;
    // A few bytes can inflate to very many.
    if (size > maxHeaderBytes) inflate.destroy(new Error(tooLong));
    else chunks.push(chunk);
  });
  const broken = new Promise<never>((_, reject) => {
    inflate.once("error", reject);
    inflate.once("close", () => reject(new Error("the connection is closed")));
  });
  broken.catch(() => {});
  return {
    async read(block) {
      if (++blocks > maxBlocks) throw new Error("too many frames with headers");
      chunks = [];
      size = 0;
      await Promise.race([new Promise((resolve) => inflate.write(block, resolve)), broken]);
      if (size > maxHeaderBytes) throw new Error(tooLong);
      return parseHeaderBlock(Buffer.concat(chunks));
    },
    close: () => inflate.destroy(),
  };
}

/** Parses a header block. Throws for lengths beyond the block. */
export function parseHeaderBlock(block: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>();
  let at = 0;
  const number = () => {
    at += 4;
    return block.readUInt32BE(at - 4);
  };
  const text = () => {
    const length = number();
    if (length > block.length - at) throw new Error("a header exceeds its frame");
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
 * Creates compressed blocks without headers for replies, as stored blocks of deflate: the count 0, then the empty block
 * that flushes the reader.
 */
export function createEmptyHeaderWriter(): () => Buffer {
  const empty = Buffer.from([0, 4, 0, 0xfb, 0xff, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff]);
  const start = Buffer.alloc(6);
  // zlib's header: deflate, with the dictionary's ID.
  start.writeUInt16BE(0x78bb, 0);
  start.writeUInt32BE(spdyDictionaryId, 2);
  let first = true;
  return () => {
    const block = first ? Buffer.concat([start, empty]) : empty;
    first = false;
    return block;
  };
}

const words = `
options head post put delete trace accept accept-charset accept-encoding accept-language accept-ranges age allow
authorization cache-control connection content-base content-encoding content-language content-length content-location
content-md5 content-range content-type date etag expect expires from host if-match if-modified-since if-none-match
if-range if-unmodified-since last-modified location max-forwards pragma proxy-authenticate proxy-authorization range
referer retry-after server te trailer transfer-encoding upgrade user-agent vary via warning www-authenticate method
get status 200_OK version HTTP/1.1 url public set-cookie keep-alive origin`;

const rest =
  "100101201202205206300302303304305306307402405406407408409410411412413414415416417502504505" +
  "203 Non-Authoritative Information204 No Content301 Moved Permanently400 Bad Request401 Unauthorized" +
  "403 Forbidden404 Not Found500 Internal Server Error501 Not Implemented503 Service Unavailable" +
  "Jan Feb Mar Apr May Jun Jul Aug Sept Oct Nov Dec 00:00:00 Mon, Tue, Wed, Thu, Fri, Sat, Sun, GMT" +
  "chunked,text/html,image/png,image/jpg,image/gif,application/xml,application/xhtml+xml,text/plain," +
  "text/javascript,publicprivatemax-age=gzip,deflate,sdchcharset=utf-8charset=iso-8859-1,utf-,*,enq=0.";

/** Dictionary with which SPDY/3 compresses headers: words preceded by their lengths, then text. */
export const spdyDictionary = Buffer.concat([
  ...words
    .trim()
    .split(/\s+/)
    .map((word) => {
      const text = Buffer.from(word.replace("_", " "));
      const length = Buffer.alloc(4);
      length.writeUInt32BE(text.length, 0);
      return Buffer.concat([length, text]);
    }),
  Buffer.from(rest),
]);

/** Adler-32 of the dictionary, its ID in zlib. */
export const spdyDictionaryId = 0xe3c6a7c2;

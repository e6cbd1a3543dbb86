import { closeSync, createReadStream, openSync, readSync } from "node:fs";
import { createGunzip } from "node:zlib";
import { ZSTDDecoder } from "zstddec/stream";
import { messageOf } from "../../lib/message-of.ts";
import { invalidArchive } from "./tar-header.ts";

type Compression = "gzip" | "zstd" | "none";

/** Chunk size: at 16 KiB, zlib's calls between JavaScript and C cost more than inflating. */
const chunkBytes = 256 << 10;
/** Maximum number of decoder rounds without input or output; headers need one or two. */
const maxIdleRounds = 16;

/** Detects the compression from the content, as other runtimes do, because media types are often wrong. */
export function compressionOf(file: string): Compression {
  const start = readStart(file);
  if (start[0] === 0x1f && start[1] === 0x8b) return "gzip";
  const magic = start.length >= 4 ? start.readUInt32LE(0) : 0;
  // A zstd frame, or a skippable frame before one.
  if (magic === 0xfd2fb528 || (magic & 0xfffffff0) >>> 0 === 0x184d2a50) return "zstd";
  return "none";
}

/** Decompressed content of the file. */
export async function* readDecompressed(file: string): AsyncGenerator<Buffer> {
  const compression = compressionOf(file);
  switch (compression) {
    case "none":
      yield* createReadStream(file, { highWaterMark: chunkBytes });
      return;
    case "gzip": {
      const source = createReadStream(file, { highWaterMark: chunkBytes });
      const gunzip = createGunzip({ chunkSize: chunkBytes });
      source.on("error", (error) => gunzip.destroy(error));
      try {
        yield* source.pipe(gunzip);
      } catch (error) {
        throw unreadable(error);
      } finally {
        source.destroy();
      }
      return;
    }
    case "zstd":
      yield* decodeZstd(file);
  }
}

/** Decodes zstd with synchronous reads, because it runs in a worker thread. */
async function* decodeZstd(file: string): AsyncGenerator<Buffer> {
  const decoder = new ZSTDDecoder();
  await decoder.init();
  const fd = openSync(file, "r");
  let idle = 0;
  function* chunks(): Generator<Buffer> {
    for (;;) {
      const chunk = Buffer.allocUnsafe(chunkBytes);
      const length = readSync(fd, chunk);
      if (length === 0) return;
      idle = 0;
      yield chunk.subarray(0, length);
    }
  }
  try {
    for (const part of decoder.decodeStreaming(chunks())) {
      // The decoder ignores zstd's error codes: on damaged data it loops without reading or writing.
      idle = part.length === 0 ? idle + 1 : 0;
      if (idle > maxIdleRounds) throw new Error("the data is damaged");
      if (part.length > 0) yield Buffer.from(part.buffer, part.byteOffset, part.length);
    }
  } catch (error) {
    throw unreadable(error);
  } finally {
    closeSync(fd);
  }
}

function readStart(file: string): Buffer {
  const fd = openSync(file, "r");
  try {
    const start = Buffer.alloc(4);
    return start.subarray(0, readSync(fd, start));
  } finally {
    closeSync(fd);
  }
}

function unreadable(error: unknown): Error {
  return invalidArchive(`cannot be decompressed: ${messageOf(error)}`);
}

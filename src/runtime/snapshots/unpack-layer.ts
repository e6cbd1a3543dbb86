import { createHash } from "node:crypto";
import { closeSync, createReadStream, mkdirSync, openSync, readSync } from "node:fs";
import { join } from "node:path";
import { createGunzip } from "node:zlib";
import { ZSTDDecoder } from "zstddec/stream";
import { messageOf } from "../../lib/message-of.ts";
import { freeUsedBuffers } from "../../lib/process/free-used-buffers.ts";
import { fromSystemError, ImageError, type ImageErrorCode } from "../errors/image-error.ts";
import { createLayerWriter, type LayerFacts } from "./layer-writer.ts";
import { createSpecialFiles } from "./special-files.ts";
import { invalidArchive } from "./tar-header.ts";
import { createTarParser } from "./tar-parser.ts";

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
async function* readDecompressed(file: string): AsyncGenerator<Buffer> {
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

export interface UnpackLimits {
  /** Maximum size of the decompressed archive. */
  readonly maxBytes: number;
  readonly maxEntries: number;
}

export interface UnpackRequest {
  readonly blob: string;
  /** Description of the blob for messages: `layer sha256:…`. */
  readonly name: string;
  /** Empty directory. The layer's files go to `fs`, temporary files to `scratch`. */
  readonly staging: string;
  readonly limits: UnpackLimits;
}

export interface UnpackResult extends LayerFacts {
  /** `sha256:…` of the decompressed archive. */
  readonly diffId: string;
  readonly bytes: number;
}

/** Decompresses, hashes and unpacks a layer in one pass. On failure the caller removes the staging directory. */
export async function unpackLayer({ blob, name, staging, limits }: UnpackRequest): Promise<UnpackResult> {
  const root = join(staging, "fs");
  const scratch = join(staging, "scratch");
  mkdirSync(root, 0o755);
  mkdirSync(scratch, 0o700);
  const writer = createLayerWriter({
    root,
    scratch,
    special: createSpecialFiles(scratch),
    maxEntries: limits.maxEntries,
  });
  const parser = createTarParser(writer);
  const hash = createHash("sha256");
  let bytes = 0;
  try {
    for await (const chunk of readDecompressed(blob)) {
      bytes += chunk.length;
      if (bytes > limits.maxBytes) {
        throw new ImageError("tooLarge", `the archive unpacks to more than ${limits.maxBytes} bytes`);
      }
      hash.update(chunk);
      parser.push(chunk);
      freeUsedBuffers(chunk.length);
    }
    parser.finish();
    return { ...writer.finish(), diffId: `sha256:${hash.digest("hex")}`, bytes };
  } catch (error) {
    throw asArchiveError(error, name);
  } finally {
    writer.dispose();
  }
}

/** Attributes errors of the file system that the archive's names cause to the archive. */
function asArchiveError(error: unknown, name: string): ImageError {
  if (error instanceof ImageError) return new ImageError(error.code, `${name}: ${error.message}`);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENAMETOOLONG" || code === "ELOOP" || code === "ENOTDIR" || code === "EILSEQ") {
    return new ImageError(
      "invalidArchive",
      `${name}: the archive has a name that cannot be: ${String(error)}`,
    );
  }
  return fromSystemError(error, `unpacking ${name}`);
}

/** Messages of the daemon to the unpack process. */
export type UnpackMessage =
  | { readonly kind: "unpack"; readonly id: number; readonly request: UnpackRequest }
  /** Starts to hash a file that is still being written. */
  | { readonly kind: "hash"; readonly id: number; readonly file: string }
  /** Reports that so many bytes of the file are written; `last` when it is complete. */
  | { readonly kind: "available"; readonly id: number; readonly bytes: number; readonly last: boolean }
  | { readonly kind: "cancel"; readonly id: number };

export type UnpackAnswer =
  /** First message: whether the kernel confines the process. */
  | { readonly kind: "ready"; readonly jailed: boolean }
  | { readonly kind: "unpacked"; readonly id: number; readonly result: UnpackResult }
  | { readonly kind: "hashed"; readonly id: number; readonly digest: string }
  | { readonly kind: "failed"; readonly id: number; readonly code: ImageErrorCode; readonly message: string };

export type JobAnswer = Exclude<UnpackAnswer, { kind: "ready" }>;

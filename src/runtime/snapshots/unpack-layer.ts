import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { freeUsedBuffers } from "../../lib/process/free-used-buffers.ts";
import { fromSystemError, ImageError, type ImageErrorCode } from "../errors/image-error.ts";
import { readDecompressed } from "./decompress.ts";
import { createLayerWriter, type LayerFacts } from "./layer-writer.ts";
import { createSpecialFiles } from "./special-files.ts";
import { createTarParser } from "./tar-parser.ts";

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

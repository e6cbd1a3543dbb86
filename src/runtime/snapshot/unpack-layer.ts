import { createHash } from "node:crypto";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fromSystemError, ImageError } from "../image/image-error.ts";
import { freeUsedBuffers } from "../process/free-used-buffers.ts";
import { readDecompressed } from "./decompress.ts";
import { createLayerWriter, type LayerFacts } from "./layer-writer.ts";
import { createSpecialFiles } from "./special-files.ts";
import { createTarParser } from "./tar-parser.ts";

export interface UnpackLimits {
  /** Of the archive once decompressed. */
  readonly maxBytes: number;
  readonly maxEntries: number;
}

export interface UnpackRequest {
  readonly blob: string;
  /** What the blob is, for messages: `layer sha256:…`. */
  readonly name: string;
  /** An empty directory of our own: the tree goes to `fs`, what is needed on the way to `scratch`. */
  readonly staging: string;
  readonly limits: UnpackLimits;
}

export interface UnpackResult extends LayerFacts {
  /** `sha256:…` of the decompressed archive. */
  readonly diffId: string;
  readonly bytes: number;
}

/** Decompresses, hashes and unpacks in one pass. On failure the caller removes the staging directory. */
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

/** What the file system refuses because of the archive's names is the archive's fault. */
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

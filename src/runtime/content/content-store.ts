import { createHash } from "node:crypto";
import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";

/**
 * ContentStore keeps blobs by digest. A download is written to a partial file first, which survives a failed or killed
 * download and is resumed by the next one:
 *
 *     (missing) ── download ──> partial ── commit ──> blob ── remove, collect ──> (missing)
 *                                  └────── discardPartial, collect ─────────────────┘
 *
 * A partial download is not visible through `has`, `read` and `list`.
 */
export interface ContentStore {
  /** Path of the blob, whether it exists or not. */
  path(digest: string): string;
  /** Path of the blob's partial download. */
  partialPath(digest: string): string;
  has(digest: string): Promise<boolean>;
  /** Rejects with ENOENT if the blob does not exist. */
  read(digest: string): Promise<Buffer>;
  /** Writes a small blob that was hashed in memory. */
  write(digest: string, bytes: Buffer): Promise<void>;
  /** Turns the partial download into the blob. The caller has checked its digest and closed it. */
  commit(digest: string): Promise<void>;
  discardPartial(digest: string): Promise<void>;
  remove(digest: string): Promise<void>;
  list(): Promise<string[]>;
  /** Removes the blobs that `keep` does not contain, and partial downloads that were last written before a time. */
  collect(options: { keep: ReadonlySet<string>; partialsBeforeMs: number }): Promise<void>;
}

export async function openContentStore(directory: string): Promise<ContentStore> {
  const blobs = join(directory, "sha256");
  const partials = join(directory, "partial");
  await mkdir(blobs, { recursive: true, mode: 0o700 });
  await mkdir(partials, { recursive: true, mode: 0o700 });

  const path = (digest: string) => join(blobs, hexOf(digest));
  const partialPath = (digest: string) => join(partials, hexOf(digest));

  return {
    path,
    partialPath,
    has: (digest) => exists(path(digest)),
    read: (digest) => readFile(path(digest)),
    write: (digest, bytes) => writeFileAtomic(path(digest), bytes),
    commit: (digest) => rename(partialPath(digest), path(digest)),
    discardPartial: (digest) => rm(partialPath(digest), { force: true }),
    remove: (digest) => rm(path(digest), { force: true }),
    list: async () => (await readdir(blobs)).map((name) => `sha256:${name}`),
    async collect({ keep, partialsBeforeMs }) {
      for (const name of await readdir(blobs)) {
        if (!keep.has(`sha256:${name}`)) await rm(join(blobs, name), { force: true });
      }
      for (const name of await readdir(partials)) {
        const file = join(partials, name);
        // A pull may commit or discard the partial download meanwhile.
        const found = await stat(file).catch(() => undefined);
        if (found && found.mtimeMs < partialsBeforeMs) await rm(file, { force: true });
      }
    },
  };
}

/**
 * Hexadecimal part of a digest. Digests are parsed at the edge; this is the last check before one becomes a file name.
 */
export function hexOf(digest: string): string {
  const hex = /^sha256:([0-9a-f]{64})$/.exec(digest)?.[1];
  if (hex === undefined) throw new Error(`not a sha256 digest: ${digest}`);
  return hex;
}

async function exists(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}

/** Digest by which blobs are named. */
export function digestOf(bytes: Buffer): string {
  return `sha256:${createHash("sha256").update(bytes).digest("hex")}`;
}

import { mkdir, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "./write-file-atomic.ts";

/** Blobs by digest in one directory; what is still arriving lies beside, under the same name, and is gone on from. */
export interface ContentStore {
  path(digest: string): string;
  /** Where a download of the blob is kept until it is whole. */
  partialPath(digest: string): string;
  has(digest: string): Promise<boolean>;
  read(digest: string): Promise<Buffer>;
  /** For small blobs that were hashed in memory. */
  write(digest: string, bytes: Buffer): Promise<void>;
  /** Makes the partial download the blob. Its digest has been checked. */
  commit(digest: string): Promise<void>;
  discardPartial(digest: string): Promise<void>;
  remove(digest: string): Promise<void>;
  list(): Promise<string[]>;
  /** Removes what `keep` does not name; partial downloads that nobody came back for go by age. */
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
        const { mtimeMs } = await stat(file);
        if (mtimeMs < partialsBeforeMs) await rm(file, { force: true });
      }
    },
  };
}

/** Digests are parsed at the edge; this is the last word before one becomes a file name. */
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

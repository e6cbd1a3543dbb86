import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { hexOf } from "../content/content-store.ts";
import { writeFileAtomic } from "../content/write-file-atomic.ts";
import type { Image } from "./images.ts";

/** An image and what it is made of. */
export interface ImageRecord extends Image {
  /** Lowest first. */
  readonly diffIds: readonly string[];
  /** Blobs to keep: configuration and manifests. */
  readonly blobs: readonly string[];
}

/** The images of this machine, each in a file of its own. */
export interface ImageRecords {
  list(): readonly ImageRecord[];
  get(id: string): ImageRecord | undefined;
  /** Adds or changes; a tag that another image had moves here. */
  put(record: ImageRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

export async function openImageRecords(options: {
  dataDir: string;
  /** Whether all that a record needs is still there: one that is not whole is forgotten. */
  isWhole: (record: ImageRecord) => boolean;
}): Promise<ImageRecords> {
  const directory = join(options.dataDir, "images");
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const records = new Map<string, ImageRecord>();
  const file = (id: string) => join(directory, `${hexOf(id)}.json`);

  for (const name of await readdir(directory)) {
    const record = name.endsWith(".json") ? await readRecord(join(directory, name)) : undefined;
    if (record && options.isWhole(record)) records.set(record.id, record);
    else await rm(join(directory, name), { force: true });
  }

  async function save(record: ImageRecord): Promise<void> {
    records.set(record.id, record);
    await writeFileAtomic(file(record.id), JSON.stringify(record));
  }

  return {
    list: () => [...records.values()],
    get: (id) => records.get(id),
    async put(record) {
      // The new owner first: after a crash in between a tag has two owners rather than none.
      await save(record);
      for (const other of [...records.values()]) {
        if (other.id === record.id) continue;
        const kept = other.repoTags.filter((tag) => !record.repoTags.includes(tag));
        if (kept.length < other.repoTags.length) await save({ ...other, repoTags: kept });
      }
    },
    async remove(id) {
      records.delete(id);
      await rm(file(id), { force: true });
    },
  };
}

async function readRecord(path: string): Promise<ImageRecord | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8"));
  } catch {
    return undefined;
  }
}

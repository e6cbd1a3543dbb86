import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Clock } from "../../lib/clock.ts";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";
import { formatImageName, parseImageName, repositoryName } from "../../lib/image/image-name.ts";
import { runProgram } from "../../lib/process/run-program.ts";
import { type ContentStore, hexOf } from "../content/content-store.ts";
import type { LayerStore } from "../snapshots/layer-store.ts";
import type { RootfsStore } from "../snapshots/rootfs-store.ts";
import type { Image } from "./images.ts";

/** Image with its layers and blobs. */
export interface ImageRecord extends Image {
  /** Digests of the uncompressed layers, lowest first. */
  readonly diffIds: readonly string[];
  /** Blobs to keep: configuration and manifests. */
  readonly blobs: readonly string[];
}

/** Images of this machine, each recorded in its own file. */
export interface ImageRecords {
  list(): readonly ImageRecord[];
  get(id: string): ImageRecord | undefined;
  /** Adds or changes an image. Tags that another image had move to this one. */
  put(record: ImageRecord): Promise<void>;
  remove(id: string): Promise<void>;
}

export async function openImageRecords(options: {
  dataDir: string;
  /** Whether everything that a record refers to exists; incomplete records are deleted. */
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
      // The new owner is saved first: after a crash in between, a tag has two owners rather than none.
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

/** Finds an image by ID (whole or its first digits), digest reference, tag reference or short name. */
export function findImage<T extends Image>(images: readonly T[], text: string): T | undefined {
  const id = text.startsWith("sha256:") ? text : `sha256:${text}`;
  const byId = images.find((image) => image.id === id);
  if (byId) return byId;
  const byReference = findByReference(images, text);
  if (byReference || !/^sha256:[0-9a-f]{6,}$/.test(id)) return byReference;
  const candidates = images.filter((image) => image.id.startsWith(id));
  return candidates.length === 1 ? candidates[0] : undefined;
}

function findByReference<T extends Image>(images: readonly T[], text: string): T | undefined {
  const reference = parseImageName(text);
  if ("problem" in reference) return undefined;
  // A digest identifies the image: a tag beside it is ignored.
  if (reference.digest !== undefined) {
    const wanted = `${repositoryName(reference)}@${reference.digest}`;
    return images.find((image) => image.repoDigests.includes(wanted) || image.id === reference.digest);
  }
  const wanted = formatImageName(reference);
  return images.find((image) => image.repoTags.includes(wanted));
}

/** Removes layers and blobs that no image and no container uses. */
export interface ImageCollector {
  /** Protects layers that a pull is about to use. Returns a function that ends the lease. */
  lease(diffIds: readonly string[]): () => void;
  /** At start, removes what abandoned pulls of earlier runs left. */
  collectOld(): Promise<void>;
  /** Removes what only the image used, after its record is deleted. */
  collectImage(image: ImageRecord): Promise<void>;
  /** Syncs layers to disk in the background; until then they are valid for this boot only. */
  syncLater(diffIds: readonly string[]): void;
  close(): Promise<void>;
}

/** Retention of the layers of an interrupted pull, which is usually retried soon. */
const keepForRetryMs = 6 * 3_600_000;

export function createImageCollector(deps: {
  records: ImageRecords;
  layers: LayerStore;
  content: ContentStore;
  rootfs: RootfsStore;
  clock: Clock;
}): ImageCollector {
  const { records, layers, content, rootfs, clock } = deps;
  const leases = new Set<readonly string[]>();
  let syncing: Promise<void> = Promise.resolve();

  function neededLayers(): Set<string> {
    return new Set([
      ...records.list().flatMap(({ diffIds }) => diffIds),
      ...rootfs.list().flatMap(({ diffIds }) => diffIds),
      ...[...leases].flat(),
    ]);
  }

  return {
    lease(diffIds) {
      const lease = [...diffIds];
      leases.add(lease);
      return () => leases.delete(lease);
    },
    async collectOld() {
      const before = clock.now() - keepForRetryMs;
      const needed = neededLayers();
      for (const { diffId, createdAtMs } of layers.list()) {
        if (!needed.has(diffId) && createdAtMs < before) await layers.remove(diffId);
      }
      const keep = new Set(records.list().flatMap(({ blobs }) => blobs));
      await content.collect({ keep, partialsBeforeMs: before });
    },
    async collectImage(image) {
      for (const diffId of image.diffIds) {
        // Computed for each layer: a pull may have leased the next one meanwhile.
        if (!neededLayers().has(diffId)) await layers.remove(diffId);
      }
      const kept = new Set(records.list().flatMap(({ blobs }) => blobs));
      for (const digest of image.blobs) if (!kept.has(digest)) await content.remove(digest);
    },
    syncLater(diffIds) {
      syncing = syncing
        .then(() => runProgram("sync", ["-f", layers.directory]))
        .then(() => layers.markSynced(diffIds))
        // If the sync fails, the layers are pulled again after a crash of the machine.
        .catch(() => {});
    },
    close: () => syncing,
  };
}

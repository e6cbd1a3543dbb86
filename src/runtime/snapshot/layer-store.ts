import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { type Logger, silentLogger } from "../../lib/logger.ts";
import { writeFileAtomic } from "../content/write-file-atomic.ts";
import { shown } from "./tar-header.ts";
import type { UnpackResult } from "./unpack-layer.ts";

/** One unpacked layer, in a directory of its own: root file systems stack them. */
export interface Layer {
  /** The directory's name: short, since the kernel takes only a page of mount options. */
  readonly name: string;
  readonly diffId: string;
  readonly bytes: number;
  readonly entries: number;
  readonly whiteouts: readonly string[];
  readonly opaque: readonly string[];
  readonly implicit: readonly string[];
  readonly createdAtMs: number;
  /** The boot in which it was written, until it is known to be on disk. */
  readonly unsyncedBoot?: string;
}

/** Layers by the digest of their uncompressed archive. */
export interface LayerStore {
  readonly directory: string;
  find(diffId: string): Layer | undefined;
  list(): readonly Layer[];
  /** An empty directory to unpack into; `commit` or `discard` ends it. */
  stage(): Promise<string>;
  commit(staging: string, result: UnpackResult, now: number): Promise<Layer>;
  discard(staging: string): Promise<void>;
  remove(diffId: string): Promise<void>;
  /** The layers' files have been synced: they outlive a crash of the machine. */
  markSynced(diffIds: readonly string[]): Promise<void>;
}

export async function openLayerStore(options: {
  dataDir: string;
  bootId: string;
  logger?: Logger;
}): Promise<LayerStore> {
  const { logger = silentLogger } = options;
  const directory = join(options.dataDir, "layers");
  const stagingRoot = join(options.dataDir, "staging");
  // Whatever was being unpacked when an earlier run ended is half-made.
  // Its unpack process may take a moment to notice that its daemon is gone.
  await rm(stagingRoot, { recursive: true, force: true, maxRetries: 10, retryDelay: 50 });
  await mkdir(stagingRoot, { recursive: true, mode: 0o700 });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const layers = new Map<string, Layer>();
  let nextName = 1;

  for (const name of await readdir(directory)) {
    nextName = Math.max(nextName, Number.parseInt(name, 36) + 1 || 0);
    const layer = await readLayer(join(directory, name), name);
    const isLost = layer?.unsyncedBoot !== undefined && layer.unsyncedBoot !== options.bootId;
    if (!layer || isLost || layers.has(layer.diffId))
      await rm(join(directory, name), { recursive: true, force: true });
    else layers.set(layer.diffId, layer);
  }

  return {
    directory,
    find: (diffId) => layers.get(diffId),
    list: () => [...layers.values()],
    stage: () => mkdtemp(join(stagingRoot, "l-")),
    async commit(staging, result, now) {
      await rm(join(staging, "scratch"), { recursive: true, force: true });
      const existing = layers.get(result.diffId);
      if (existing) {
        await rm(staging, { recursive: true, force: true });
        return existing;
      }
      const { diffId, bytes, entries, whiteouts, opaque, implicit, skipped } = result;
      if (skipped.length > 0) {
        const paths = skipped.slice(0, 5).map(shown);
        const text = "this machine does not let us make devices or extended attributes of a layer";
        logger.warn(text, { diffId, count: skipped.length, paths });
      }
      const layer: Layer = {
        name: (nextName++).toString(36),
        diffId,
        bytes,
        entries,
        whiteouts,
        opaque,
        implicit,
        createdAtMs: now,
        unsyncedBoot: options.bootId,
      };
      await writeFileAtomic(join(staging, "layer.json"), JSON.stringify(layer));
      // Taken before the rename: two unpackings of one layer may end together.
      layers.set(diffId, layer);
      try {
        await rename(staging, join(directory, layer.name));
      } catch (error) {
        layers.delete(diffId);
        throw error;
      }
      return layer;
    },
    discard: (staging) => rm(staging, { recursive: true, force: true }),
    async remove(diffId) {
      const layer = layers.get(diffId);
      if (!layer) return;
      layers.delete(diffId);
      // Out of sight first, so that a crash in between leaves nothing that looks whole.
      const doomed = join(stagingRoot, `gone-${layer.name}`);
      await rename(join(directory, layer.name), doomed);
      await rm(doomed, { recursive: true, force: true });
    },
    async markSynced(diffIds) {
      for (const diffId of diffIds) {
        const layer = layers.get(diffId);
        if (layer?.unsyncedBoot === undefined) continue;
        const { unsyncedBoot: _synced, ...synced } = layer;
        await writeFileAtomic(join(directory, layer.name, "layer.json"), JSON.stringify(synced));
        if (layers.get(diffId) === layer) layers.set(diffId, synced);
      }
    },
  };
}

async function readLayer(directory: string, name: string): Promise<Layer | undefined> {
  try {
    return { ...JSON.parse(await readFile(join(directory, "layer.json"), "utf8")), name };
  } catch {
    return undefined;
  }
}

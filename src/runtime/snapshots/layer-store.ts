import { chmodSync, lchownSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";
import { type Logger, silentLogger } from "../../lib/logger.ts";
import { createLayerTree } from "./layer-tree.ts";
import { shown } from "./tar-header.ts";
import type { UnpackResult } from "./unpack-layer.ts";

/** Unpacked layer in its own directory. Root file systems are stacks of layers. */
export interface Layer {
  /** Name of the directory; short because the kernel limits mount options to one page. */
  readonly name: string;
  readonly diffId: string;
  readonly bytes: number;
  readonly entries: number;
  readonly whiteouts: readonly string[];
  readonly opaque: readonly string[];
  readonly implicit: readonly string[];
  readonly createdAtMs: number;
  /** Boot ID of the boot in which the layer was written, until its files are known to be on disk. */
  readonly unsyncedBoot?: string;
}

/**
 * Store of unpacked layers by the digest of their uncompressed archive. A layer never changes after `commit`:
 *
 *   stage ──> commit ──> markSynced ──> remove
 *     └─────> discard
 *
 * Opening the store removes staging directories of earlier runs, and layers that the machine may have lost in a crash
 * because `markSynced` was not called.
 */
export interface LayerStore {
  readonly directory: string;
  find(diffId: string): Layer | undefined;
  list(): readonly Layer[];
  /** Creates an empty directory to unpack into. Ends with `commit` or `discard`. */
  stage(): Promise<string>;
  /** Makes the staging directory a layer. */
  commit(staging: string, result: UnpackResult, now: number): Promise<Layer>;
  discard(staging: string): Promise<void>;
  remove(diffId: string): Promise<void>;
  /** Records that the layers' files were synced and survive a crash of the machine. */
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
  // Layers that were being unpacked when an earlier run ended are incomplete. The unpack process of that run may need a
  // moment to notice that its daemon is gone.
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
        const text = "devices or extended attributes of a layer could not be created on this machine";
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
      // Registered before the rename: two unpack operations of one layer may finish together.
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
      // Moved away first, so that a crash in between does not leave a layer that looks complete.
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

/**
 * Copies mode and owner of directories without an entry, such as `etc` in a layer that only has
 * `etc/conf`, from the nearest layer below that has the directory. overlayfs would otherwise show the mode they were
 * created with.
 */
export function inheritDirectories(layersDirectory: string, stack: readonly Layer[], layer: Layer): void {
  const treeOf = ({ name }: Layer) => createLayerTree(join(layersDirectory, name, "fs"));
  const below = stack.slice(0, stack.indexOf(layer)).reverse().map(treeOf);
  const own = treeOf(layer);
  for (const path of layer.implicit) {
    for (const lower of below) {
      const real = lower.locate(path);
      const found = real === undefined ? undefined : lower.stat(real);
      if (!found?.isDirectory()) continue;
      lchownSync(own.at(path), found.uid, found.gid);
      chmodSync(own.at(path), found.mode & 0o7777);
      break;
    }
  }
}

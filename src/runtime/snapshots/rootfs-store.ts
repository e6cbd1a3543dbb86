import { utimesSync } from "node:fs";
import { chmod, lstat, mkdir, readdir, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { mountPointsBelow, readMountInfo } from "../../lib/fs/mount-points.ts";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import { runProgram } from "../../lib/process/run-program.ts";
import { fromSystemError, ImageError } from "../errors/image-error.ts";
import type { Layer, LayerStore } from "./layer-store.ts";
import {
  createLayerTree,
  isWhiteoutMark,
  join as joinEntry,
  type LayerTree,
  parentOf,
} from "./layer-tree.ts";

/** Store of the containers' writable root file systems: stacked by overlayfs, or copied where it is unavailable. */
export interface RootfsStore {
  create(containerId: string, image: { id: string; layers: readonly Layer[] }): Promise<{ path: string }>;
  remove(containerId: string): Promise<void>;
  list(): readonly RootfsRecord[];
  /** Directory that receives the files a container writes; with copies it holds all files. */
  writablePath(containerId: string): string;
}

interface RootfsRecord {
  readonly containerId: string;
  readonly imageId: string;
  readonly diffIds: readonly string[];
}

export type RootfsMode = "overlay" | "copy";

export async function openRootfsStore(options: {
  dataDir: string;
  layers: LayerStore;
  mode: RootfsMode;
}): Promise<RootfsStore> {
  const { layers, mode } = options;
  const named = join(options.dataDir, "rootfs");
  // Only root may enter: a container may leave a set-user-id program there, which would give root to any user of the
  // host.
  await mkdir(named, { recursive: true });
  await chmod(named, 0o700);
  // The path under which the kernel lists mounts: the data directory may be a link to another disk.
  const directory = await realpath(named);
  const records = new Map<string, RootfsRecord>();
  const mutex = createKeyedMutex();

  // Containers of an earlier run may still be running: recorded root file systems stay, incomplete ones are removed.
  for (const containerId of await readdir(directory)) {
    const record = await readRecord(join(directory, containerId, "rootfs.json"));
    if (record) records.set(containerId, record);
    else await release(containerId);
  }

  async function release(containerId: string): Promise<void> {
    const folder = join(directory, containerId);
    for (let attempt = 1; ; attempt++) {
      for (const point of mountPointsBelow(await readMountInfo(), folder)) {
        await runProgram("umount", [point]).catch(() => runProgram("umount", ["-l", point]));
      }
      try {
        await rm(folder, { recursive: true, force: true });
        return;
      } catch (error) {
        // A `mount` of a daemon that was killed can succeed after its mount points were listed.
        const isMounted = error instanceof Error && "code" in error && error.code === "EBUSY";
        if (!isMounted || attempt === 3) throw error;
      }
    }
  }

  async function create(
    containerId: string,
    image: { id: string; layers: readonly Layer[] },
  ): Promise<string> {
    const folder = join(directory, containerId);
    const merged = join(folder, "merged");
    const isMounted = async () => mountPointsBelow(await readMountInfo(), merged).length > 0;
    const known = records.has(containerId);
    if (known && (mode === "copy" || (await isMounted()))) return merged;
    for (const name of ["upper", "work", "merged"])
      await mkdir(join(folder, name), { recursive: true, mode: 0o755 });
    if (mode === "overlay") {
      await mountOverlay(containerId, image.layers);
    } else {
      await copyLayers({ layersDirectory: layers.directory, layers: image.layers, target: merged });
    }
    // Recorded last: without a record, a later run treats the directory as incomplete and removes it.
    const record = { containerId, imageId: image.id, diffIds: image.layers.map(({ diffId }) => diffId) };
    await writeFileAtomic(join(folder, "rootfs.json"), JSON.stringify(record));
    records.set(containerId, record);
    return merged;
  }

  /**
   * Mounts the layers. Relative paths keep the options short: hundreds of layers fit, however long the data directory
   * is.
   */
  async function mountOverlay(containerId: string, lowers: readonly Layer[]): Promise<void> {
    const stack = visibleLayers(lowers)
      .map(({ name }) => `${name}/fs`)
      .reverse();
    // overlayfs needs a lower directory, also for an image without layers.
    if (stack.length === 0) stack.push(`../rootfs/${containerId}/work`);
    const own = `../rootfs/${containerId}`;
    const data = `lowerdir=${stack.join(":")},upperdir=${own}/upper,workdir=${own}/work`;
    await runProgram("mount", ["-t", "overlay", "overlay", "-o", data, `${own}/merged`], {
      cwd: layers.directory,
    });
  }

  return {
    list: () => [...records.values()],
    writablePath: (containerId) => join(directory, containerId, mode === "overlay" ? "upper" : "merged"),
    create: (containerId, image) =>
      mutex.run(containerId, async () => {
        if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(containerId)) {
          throw new ImageError("internal", `"${containerId}" cannot name a root file system`);
        }
        try {
          return { path: await create(containerId, image) };
        } catch (error) {
          records.delete(containerId);
          await release(containerId);
          throw fromSystemError(error, `making the root file system of ${containerId}`);
        }
      }),
    remove: (containerId) =>
      mutex.run(containerId, async () => {
        if (!/^[A-Za-z0-9][A-Za-z0-9_.-]{0,127}$/.test(containerId)) return;
        await rm(join(directory, containerId, "rootfs.json"), { force: true });
        await release(containerId);
        records.delete(containerId);
      }),
  };
}

/** Layers from the topmost one with an opaque root, which hides everything below; overlayfs has no marker for it. */
function visibleLayers(layers: readonly Layer[]): readonly Layer[] {
  return layers.slice(
    Math.max(
      0,
      layers.findLastIndex(({ opaque }) => opaque.includes("")),
    ),
  );
}

async function readRecord(file: string): Promise<RootfsRecord | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch {
    return undefined;
  }
}

/**
 * Whether overlayfs can be mounted with its layers in the directory. It needs root and a suitable file system. Also
 * removes what a probe left that was killed.
 */
export async function canMountOverlay(directory: string): Promise<boolean> {
  const names = await readdir(directory).catch(() => []);
  for (const name of names) if (/^probe-\d+$/.test(name)) await removeProbe(join(directory, name));
  const probe = join(directory, `probe-${process.pid}`);
  try {
    for (const name of ["l", "u", "w", "m"]) await mkdir(join(probe, name), { recursive: true });
    await runProgram("mount", ["-t", "overlay", "overlay", "-o", "lowerdir=l,upperdir=u,workdir=w", "m"], {
      cwd: probe,
    });
    return true;
  } catch {
    return false;
  } finally {
    await removeProbe(probe);
  }
}

/** Removes a probe, which may be mounted. A lazy unmount does not fail while another program looks at the mount. */
async function removeProbe(probe: string): Promise<void> {
  await runProgram("umount", ["--lazy", join(probe, "m")]).catch(() => {});
  await rm(probe, { recursive: true, force: true });
}

/**
 * Copies layers over one another, for machines that cannot mount overlayfs. Shares blocks where the file system can.
 */
async function copyLayers(options: {
  layersDirectory: string;
  layers: readonly Layer[];
  target: string;
}): Promise<void> {
  const { layersDirectory, layers, target } = options;
  for (const layer of layers) {
    const tree = createLayerTree(target);
    const root = join(layersDirectory, layer.name, "fs");
    await makeWay(Buffer.from(root), Buffer.from(target));
    // Done after makeWay: a whiteout refers to the layer's own directory, not to the target of a link in its place.
    await removeHidden(tree, layer);
    // cp keeps names of any bytes, links, owners, times and attributes.
    await runProgram("cp", ["-a", "--reflink=auto", "-T", "--", root, target]);
    removeMarks(tree, layer);
  }
}

/** Removes what the layer hides of the layers below it. */
async function removeHidden(tree: LayerTree, { opaque, whiteouts }: Layer): Promise<void> {
  for (const path of opaque) {
    const real = path === "" ? "" : tree.locate(path);
    if (real === undefined || !tree.stat(real)?.isDirectory()) continue;
    for (const name of await readdir(tree.at(real), "latin1")) tree.clear(joinEntry(real, name));
  }
  for (const path of whiteouts) {
    const real = tree.locate(path);
    if (real !== undefined) tree.clear(real);
  }
}

/** Removes everything that the copy must replace, except directories. cp therefore never writes through a link. */
async function makeWay(from: Buffer, to: Buffer): Promise<void> {
  for (const name of await readdir(from, "buffer")) {
    const [source, place] = [below(from, name), below(to, name)];
    const present = await lstat(place).catch(() => undefined);
    if (!present) continue;
    if (present.isDirectory() && (await lstat(source)).isDirectory()) await makeWay(source, place);
    else await rm(place, { recursive: true, force: true });
  }
}

/** Removes overlayfs's whiteout markers, which are not part of the image, and keeps the times of directories. */
function removeMarks(tree: LayerTree, { whiteouts }: Layer): void {
  for (const path of whiteouts) {
    const [copied, directory] = [tree.stat(path), tree.stat(parentOf(path))];
    if (!copied || !directory || !isWhiteoutMark(copied)) continue;
    tree.clear(path);
    utimesSync(tree.at(parentOf(path)), directory.atimeMs / 1_000, directory.mtimeMs / 1_000);
  }
}

function below(directory: Buffer, name: Buffer): Buffer {
  return Buffer.concat([directory, Buffer.from("/"), name]);
}

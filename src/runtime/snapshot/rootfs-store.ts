import { chmod, mkdir, readdir, readFile, realpath, rm } from "node:fs/promises";
import { join } from "node:path";
import { createKeyedMutex } from "../../lib/keyed-mutex.ts";
import { mountPointsBelow, readMountInfo } from "../../lib/mount-points.ts";
import { writeFileAtomic } from "../content/write-file-atomic.ts";
import { fromSystemError, ImageError } from "../image/image-error.ts";
import { runProgram } from "../process/run-program.ts";
import { copyLayers } from "./copy-layers.ts";
import type { Layer, LayerStore } from "./layer-store.ts";

/** The writable root file systems of containers: layers stacked by overlayfs, or copied where that cannot be. */
export interface RootfsStore {
  create(containerId: string, image: { id: string; layers: readonly Layer[] }): Promise<{ path: string }>;
  remove(containerId: string): Promise<void>;
  list(): readonly RootfsRecord[];
  /** Where what a container writes comes to lie; with copies that is everything. */
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
  // Root's alone: a container may leave a program there that makes root of whoever runs it, on the machine too.
  await mkdir(named, { recursive: true });
  await chmod(named, 0o700);
  // As the kernel lists its mounts: the data directory may be a link to another disk.
  const directory = await realpath(named);
  const records = new Map<string, RootfsRecord>();
  const mutex = createKeyedMutex();

  // Containers of an earlier run may still be running: what is recorded stays, what is half-made goes.
  for (const containerId of await readdir(directory)) {
    const record = await readRecord(join(directory, containerId, "rootfs.json"));
    if (record) records.set(containerId, record);
    else await release(containerId);
  }

  async function release(containerId: string): Promise<void> {
    const folder = join(directory, containerId);
    for (const point of mountPointsBelow(await readMountInfo(), folder)) {
      await runProgram("umount", [point]).catch(() => runProgram("umount", ["-l", point]));
    }
    await rm(folder, { recursive: true, force: true });
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
    // Recorded last: without the record a later run takes the directory for half-made and releases it.
    const record = { containerId, imageId: image.id, diffIds: image.layers.map(({ diffId }) => diffId) };
    await writeFileAtomic(join(folder, "rootfs.json"), JSON.stringify(record));
    records.set(containerId, record);
    return merged;
  }

  /** Relative paths keep the options short: hundreds of layers fit, whatever the data directory is called. */
  async function mountOverlay(containerId: string, lowers: readonly Layer[]): Promise<void> {
    const stack = visibleLayers(lowers)
      .map(({ name }) => `${name}/fs`)
      .reverse();
    // overlayfs wants something underneath, also for an image without layers.
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

/** A layer whose root is opaque hides all below it; overlayfs has no mark for that on a root. */
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

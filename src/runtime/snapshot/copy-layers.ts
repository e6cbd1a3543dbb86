import type { Stats } from "node:fs";
import {
  chmod,
  constants,
  copyFile,
  lchown,
  lstat,
  lutimes,
  mkdir,
  opendir,
  readlink,
  rm,
  symlink,
} from "node:fs/promises";
import { join } from "node:path";
import { runProgram } from "../process/run-program.ts";
import type { Layer } from "./layer-store.ts";
import { createLayerTree } from "./layer-tree.ts";

/** Where overlayfs cannot be mounted: each layer copied over the ones before it. Shares blocks where the disk can. */
export async function copyLayers(options: {
  layersDirectory: string;
  layers: readonly Layer[];
  target: string;
}): Promise<void> {
  const { layersDirectory, layers, target } = options;
  for (const layer of layers) {
    const tree = createLayerTree(target);
    for (const path of layer.opaque) {
      const real = path === "" ? "" : tree.locate(path);
      if (real !== undefined) await empty(tree.at(real).toString());
    }
    for (const path of layer.whiteouts) {
      const real = tree.locate(path);
      if (real !== undefined) tree.clear(real);
    }
    const root = join(layersDirectory, layer.name, "fs");
    const attributed = new Set(layer.attributed);
    // Paths of layers have one character per byte.
    const pathOf = (file: string) => Buffer.from(file.slice(root.length + 1)).toString("latin1");
    await copyTree(root, target, (file) => attributed.has(pathOf(file)));
  }
}

type HasXattrs = (file: string) => boolean;

async function copyTree(from: string, to: string, hasXattrs: HasXattrs): Promise<void> {
  const found = await lstat(from);
  for await (const { name } of await opendir(from))
    await copyEntry(join(from, name), join(to, name), hasXattrs);
  await copyAttributes(found, to);
}

async function copyEntry(from: string, to: string, hasXattrs: HasXattrs): Promise<void> {
  const found = await lstat(from);
  const isMark = found.isCharacterDevice() && found.rdev === 0;
  if (isMark) return;
  const present = await lstat(to).catch(() => undefined);
  if (found.isDirectory()) {
    if (present && !present.isDirectory()) await rm(to, { force: true });
    if (!present?.isDirectory()) await mkdir(to);
    return copyTree(from, to, hasXattrs);
  }
  if (present) await rm(to, { recursive: true, force: true });
  if (found.isSymbolicLink()) await symlink(await readlink(from), to);
  else if (found.isFile() && !hasXattrs(from))
    await copyFile(from, to, constants.COPYFILE_FICLONE | constants.COPYFILE_EXCL);
  else {
    // With all that it has; a change of owner behind that would take file capabilities away.
    await runProgram("cp", ["-a", "--reflink=auto", "--", from, to]);
    return;
  }
  await copyAttributes(found, to);
}

async function copyAttributes(found: Stats, to: string): Promise<void> {
  await lchown(to, found.uid, found.gid);
  if (!found.isSymbolicLink()) await chmod(to, found.mode & 0o7777);
  await lutimes(to, found.atime, found.mtime);
}

async function empty(directory: string): Promise<void> {
  if (!(await lstat(directory)).isDirectory()) return;
  for await (const { name } of await opendir(directory))
    await rm(join(directory, name), { recursive: true, force: true });
}

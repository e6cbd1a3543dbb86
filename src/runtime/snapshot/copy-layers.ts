import { utimesSync } from "node:fs";
import { lstat, readdir, rm } from "node:fs/promises";
import { join as joinPath } from "node:path";
import { runProgram } from "../process/run-program.ts";
import type { Layer } from "./layer-store.ts";
import { createLayerTree, isWhiteoutMark, join, type LayerTree, parentOf } from "./layer-tree.ts";

/** Where overlayfs cannot be mounted: each layer copied over the ones before it. Shares blocks where the disk can. */
export async function copyLayers(options: {
  layersDirectory: string;
  layers: readonly Layer[];
  target: string;
}): Promise<void> {
  const { layersDirectory, layers, target } = options;
  for (const layer of layers) {
    const tree = createLayerTree(target);
    const root = joinPath(layersDirectory, layer.name, "fs");
    await makeWay(Buffer.from(root), Buffer.from(target));
    // Behind that: a whiteout is about the layer's own directory, not about where a link in its place led.
    await removeHidden(tree, layer);
    // Whatever bytes the names are, with links, owners, times and attributes.
    await runProgram("cp", ["-a", "--reflink=auto", "-T", "--", root, target]);
    removeMarks(tree, layer);
  }
}

/** Takes away what the layer hides of those underneath. */
async function removeHidden(tree: LayerTree, { opaque, whiteouts }: Layer): Promise<void> {
  for (const path of opaque) {
    const real = path === "" ? "" : tree.locate(path);
    if (real === undefined || !tree.stat(real)?.isDirectory()) continue;
    for (const name of await readdir(tree.at(real), "latin1")) tree.clear(join(real, name));
  }
  for (const path of whiteouts) {
    const real = tree.locate(path);
    if (real !== undefined) tree.clear(real);
  }
}

/** Frees every name that cannot stay: directories over directories do. So cp writes through no link, and into no file. */
async function makeWay(from: Buffer, to: Buffer): Promise<void> {
  for (const name of await readdir(from, "buffer")) {
    const [source, place] = [below(from, name), below(to, name)];
    const present = await lstat(place).catch(() => undefined);
    if (!present) continue;
    if (present.isDirectory() && (await lstat(source)).isDirectory()) await makeWay(source, place);
    else await rm(place, { recursive: true, force: true });
  }
}

/** overlayfs's marks are nothing of the image. Directories keep their times. */
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

import { chmodSync, lchownSync } from "node:fs";
import { join } from "node:path";
import type { Layer } from "./layer-store.ts";
import { createLayerTree } from "./layer-tree.ts";

/**
 * A layer may have `etc/conf` without an entry for `etc`. Stacked by overlayfs, such a directory would show the mode
 * and owner it was made with: it gets those of the nearest layer underneath that has it.
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

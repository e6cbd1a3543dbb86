import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { toolPath } from "../../test/support/programs/tools.ts";

const run = promisify(execFile);

/** OCI layout with an image of the given layers. Files have mixed sizes, and half of the data is compressible. */
export async function makeBenchImage(options: {
  directory: string;
  layers: number;
  layerBytes: number;
  /** File sizes, in order. */
  fileSizes?: readonly number[];
}): Promise<string> {
  const { directory, layers, layerBytes, fileSizes = [2_000, 8_000, 30_000, 100_000, 400_000] } = options;
  const layout = join(directory, "layout");
  await mkdir(directory, { recursive: true });
  await run(toolPath("umoci"), ["init", "--layout", layout]);
  await run(toolPath("umoci"), ["new", "--image", `${layout}:bench`]);
  for (let layer = 0; layer < layers; layer++) {
    const tree = join(directory, `tree-${layer}`);
    await writeTree(tree, layerBytes, fileSizes);
    await run(toolPath("umoci"), ["insert", "--image", `${layout}:bench`, tree, `/layer-${layer}`]);
  }
  return `oci:${layout}:bench`;
}

async function writeTree(tree: string, bytes: number, sizes: readonly number[]): Promise<void> {
  let left = bytes;
  for (let file = 0; left > 0; file++) {
    const size = Math.min(left, sizes[file % sizes.length] ?? 0);
    left -= size;
    const folder = join(tree, `d${file % 40}`);
    await mkdir(folder, { recursive: true });
    const random = randomBytes(size >> 1);
    const text = Buffer.alloc(size - random.length, `some text of file ${file} that repeats itself\n`);
    await writeFile(join(folder, `f${file}`), Buffer.concat([random, text]));
  }
}

import { mkdir, rename, writeFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { build } from "esbuild";

/**
 * Bundles a TypeScript file for a process of its own (Node 20 runs no TypeScript) and answers with the path of the
 * result. That lies below node_modules, where packages left outside the bundle are found.
 */
export async function bundle(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    format: "esm",
    platform: "node",
    target: "node20",
    // Native, and found beside its own files.
    external: ["lmdb"],
    banner: {
      // Some bundled CommonJS dependencies call require for Node's own modules.
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    sourcemap: "inline",
    logLevel: "warning",
  });
  const folder = resolve("node_modules/.cache/kindling-test");
  const path = join(folder, `${basename(file, ".ts")}.mjs`);
  await mkdir(folder, { recursive: true });
  // Two test files may ask for the same one at the same time: neither sees half of it.
  await writeFile(`${path}.${process.pid}`, outputFiles[0]?.contents ?? "");
  await rename(`${path}.${process.pid}`, path);
  return path;
}

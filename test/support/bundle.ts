import { basename, resolve } from "node:path";
import { build } from "esbuild";

/**
 * Bundles a TypeScript file for a process of its own (Node 20 runs no TypeScript) and answers with the path of the
 * result. It lies below node_modules, so that packages left outside the bundle are found.
 */
export async function bundle(file: string): Promise<string> {
  const outfile = resolve(`node_modules/.cache/kindling-test/${basename(file, ".ts")}-${process.pid}.mjs`);
  await build({
    entryPoints: [file],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // Native, and found beside its own files.
    external: ["lmdb"],
    sourcemap: "inline",
    logLevel: "warning",
  });
  return outfile;
}

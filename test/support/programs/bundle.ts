import { basename } from "node:path";
import { build } from "esbuild";
import { makeOnce } from "./programs-folder.ts";

/**
 * Bundles a TypeScript file for a separate process (Node.js 20 runs no TypeScript) and returns the path of the
 * result.
 */
export function bundle(file: string): Promise<string> {
  return makeOnce(`${basename(file, ".ts")}.mjs`, async (outfile) => {
    await build({
      entryPoints: [file],
      outfile,
      bundle: true,
      format: "esm",
      platform: "node",
      target: "node20",
      // Native, and found beside its own files.
      external: ["lmdb"],
      banner: {
        // Some bundled CommonJS dependencies call require for Node's own modules.
        js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
      },
      logLevel: "warning",
    });
  });
}

// Bundles the command and the library: `node scripts/bundle-command.mjs FOLDER`. The package has them in dist; tests
// run them from a folder of their own. Each subcommand becomes its own chunk, so that starting one never pays for the
// others.
import { chmod } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "esbuild";

export async function bundleCommand(outdir) {
  await build({
    entryPoints: {
      kindling: "src/cli/main.ts",
      // What `import { startCluster } from "kindling"` gives.
      "start-cluster": "src/testing/start-cluster.ts",
      // Runs in a process of its own, away from the daemon's event loop.
      "unpack-process": "src/runtime/snapshot/unpack-process.ts",
    },
    outdir,
    chunkNames: "chunk/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // lmdb carries a native addon that it finds beside its own files.
    external: ["lmdb"],
    minifySyntax: true,
    sourcemap: true,
    banner: {
      // Some bundled CommonJS dependencies call require for Node's own modules.
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    logLevel: "warning",
  });
  await chmod(join(outdir, "kindling.js"), 0o755);
}

if (resolve(process.argv[1] ?? "") === import.meta.filename) await bundleCommand(process.argv[2] ?? "dist");

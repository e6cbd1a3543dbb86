// Bundles the command, the library and the web page. Each subcommand becomes its own chunk, so that starting one never pays for the others.
import { chmod, rm } from "node:fs/promises";
import { build } from "esbuild";
import { build as buildPage } from "vite";
import { buildTypes } from "./build-types.mjs";

await import("./generate-schema.mjs");

await rm("dist", { recursive: true, force: true });
const page = buildPage({ configFile: "dashboard/vite.config.mjs" });
await build({
  entryPoints: {
    kindling: "src/cli/main.ts",
    // What `import { startCluster } from "kindling"` gives.
    "start-cluster": "src/testing/start-cluster.ts",
    // Runs in a process of its own, away from the daemon's event loop.
    "unpack-process": "src/runtime/snapshot/unpack-process.ts",
  },
  outdir: "dist",
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
await page;
await chmod("dist/kindling.js", 0o755);
buildTypes("dist/types");

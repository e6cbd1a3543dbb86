// Bundles the command. Each subcommand becomes its own chunk, so that starting one never pays for the others.
import { chmod, rm } from "node:fs/promises";
import { build } from "esbuild";



await rm("node_modules/.cache/kubelet-dist", { recursive: true, force: true });
await build({
  entryPoints: {
    kindling: "src/cli/main.ts",
    // Runs in a process of its own, away from the daemon's event loop.
    "unpack-process": "src/runtime/snapshot/unpack-process.ts",
  },
  outdir: "node_modules/.cache/kubelet-dist",
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
await chmod("node_modules/.cache/kubelet-dist/kindling.js", 0o755);

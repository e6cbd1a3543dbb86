// Bundles the command and the library: `node scripts/bundle-command.mjs FOLDER`. The package has them in dist; tests
// bundle into a temporary folder. Each subcommand is a separate chunk, so that only the one that runs is loaded.
import { chmod } from "node:fs/promises";
import { join, resolve } from "node:path";
import { build } from "esbuild";

/** Plugins of kubectl, and the programs that complete their arguments. */
const plugins = ["kubectl-why", "kubectl-kindling", "kubectl-complete-why", "kubectl-complete-kindling"];

export async function bundleCommand(outdir) {
  await build({
    entryPoints: {
      kindling: "src/cli/main.ts",
      ...Object.fromEntries(plugins.map((name) => [name, `src/cli/${name}.ts`])),
      // Entry of `import { startCluster } from "kindling"`.
      "start-cluster": "src/testing/start-cluster.ts",
      // Runs in a separate process, so that it does not block the daemon's event loop.
      "unpack-process": "src/runtime/snapshots/unpack-process.ts",
      // Relays connections of services, apart from the event loop of the API server.
      "relay-process": "src/proxy/userspace/relay-process.ts",
    },
    outdir,
    chunkNames: "chunk/[name]-[hash]",
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20",
    // lmdb loads a native addon from its package directory.
    external: ["lmdb"],
    minifySyntax: true,
    sourcemap: true,
    banner: {
      // Some bundled CommonJS dependencies call require for built-in modules.
      js: 'import { createRequire as __createRequire } from "node:module"; const require = __createRequire(import.meta.url);',
    },
    logLevel: "warning",
  });
  for (const name of ["kindling", ...plugins]) await chmod(join(outdir, `${name}.js`), 0o755);
}

if (resolve(process.argv[1] ?? "") === import.meta.filename) await bundleCommand(process.argv[2] ?? "dist");

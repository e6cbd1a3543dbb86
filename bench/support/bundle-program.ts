import { resolve } from "node:path";
import { build } from "esbuild";

/** Bundles bench/support/NAME.ts, which a benchmark starts as a separate process. Returns the file. */
export async function bundleProgram(name: string): Promise<string> {
  const outfile = resolve(`node_modules/.cache/bench/${name}.mjs`);
  await build({
    entryPoints: [`bench/support/${name}.ts`],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    packages: "external",
  });
  return outfile;
}

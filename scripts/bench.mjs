// npm run bench -- NAME [args]: bundles and runs bench/NAME.ts. Without a name, lists the benchmarks.
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { build } from "esbuild";

const [name, ...args] = process.argv.slice(2);
const names = readdirSync("bench", { withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith(".ts"))
  .map((entry) => entry.name.slice(0, -".ts".length));

if (!names.includes(name)) {
  console.log(`${name ? `there is no benchmark ${name}; ` : ""}npm run bench -- ${names.join(" | ")}`);
  process.exit(name ? 2 : 0);
}
const outfile = resolve(`node_modules/.cache/bench/${name}.mjs`);
await build({
  entryPoints: [`bench/${name}.ts`],
  outfile,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  sourcemap: "inline",
  logLevel: "warning",
});
const { status } = spawnSync(process.execPath, ["--enable-source-maps", outfile, ...args], {
  stdio: "inherit",
});
process.exit(status ?? 1);

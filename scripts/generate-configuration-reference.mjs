// Writes docs/configuration.md from the options, fields and feature gates in the code.
// `--check` fails when docs/configuration.md is stale.
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

const output = "docs/configuration.md";
// Below node_modules, so that external packages can be resolved.
const bundle = `node_modules/.cache/configuration-reference-${process.pid}.mjs`;
await mkdir("node_modules/.cache", { recursive: true });
await build({
  entryPoints: ["src/cli/configuration-reference.ts"],
  outfile: bundle,
  bundle: true,
  format: "esm",
  platform: "node",
  target: "node20",
  packages: "external",
  logLevel: "warning",
});
try {
  const { configurationReference } = await import(pathToFileURL(bundle));
  const document = await configurationReference();
  if (!process.argv.includes("--check")) {
    await writeFile(output, document);
  } else if ((await readFile(output, "utf8")) !== document) {
    console.error(`${output} is stale: run node scripts/generate-configuration-reference.mjs`);
    process.exitCode = 1;
  }
} finally {
  await rm(bundle);
}

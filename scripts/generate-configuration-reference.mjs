// Writes docs/configuration.md from the options, fields and gates that the code has.
import { mkdir, rm, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import { build } from "esbuild";

// Below node_modules, where packages left outside the bundle are found.
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
  await writeFile("docs/configuration.md", await configurationReference());
} finally {
  await rm(bundle);
}

// Builds the package: the command, the library with its types, and the dashboard. `--if-changed` skips the build if
// dist was built from the same sources, because npm runs `prepare` on the first `npx kindling` of every user.
import { readFile, rm, writeFile } from "node:fs/promises";
import { sourceHash } from "./source-hash.mjs";

const stamp = "dist/built-from";

async function isBuilt() {
  const from = await readFile(stamp, "utf8").catch(() => undefined);
  return from !== undefined && from === sourceHash();
}

// Builders are loaded only if they are needed.
if (!(process.argv.includes("--if-changed") && (await isBuilt()))) {
  const { build: buildPage } = await import("vite");
  const { buildTypes } = await import("./build-types.mjs");
  const { bundleCommand } = await import("./bundle-command.mjs");
  await import("./generate-schema.mjs");
  await rm("dist", { recursive: true, force: true });
  await Promise.all([buildPage({ configFile: "dashboard/vite.config.mjs" }), bundleCommand("dist")]);
  buildTypes("dist/types");
  // Written last, so that an interrupted build is repeated.
  await writeFile(stamp, sourceHash());
}

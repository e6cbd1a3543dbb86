// Builds the package: the command, the library with its types, and the web page. `--if-changed` leaves a dist alone that
// was built from the same: npm runs `prepare` for the first `npx kindling` of every user of a checkout, root's too.
import { readFile, rm, writeFile } from "node:fs/promises";
import { sourceHash } from "./source-hash.mjs";

const stamp = "dist/built-from";

async function isBuilt() {
  const from = await readFile(stamp, "utf8").catch(() => undefined);
  return from !== undefined && from === sourceHash();
}

// Builders are loaded when there is something to build.
if (!(process.argv.includes("--if-changed") && (await isBuilt()))) {
  const { build: buildPage } = await import("vite");
  const { buildTypes } = await import("./build-types.mjs");
  const { bundleCommand } = await import("./bundle-command.mjs");
  await import("./generate-schema.mjs");
  await rm("dist", { recursive: true, force: true });
  await Promise.all([buildPage({ configFile: "dashboard/vite.config.mjs" }), bundleCommand("dist")]);
  buildTypes("dist/types");
  // Last: a build that was cut off is none.
  await writeFile(stamp, sourceHash());
}

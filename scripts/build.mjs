// Builds the package: the command, the library with its types, and the web page.
import { rm } from "node:fs/promises";
import { build as buildPage } from "vite";
import { buildTypes } from "./build-types.mjs";
import { bundleCommand } from "./bundle-command.mjs";

await import("./generate-schema.mjs");

await rm("dist", { recursive: true, force: true });
await Promise.all([buildPage({ configFile: "dashboard/vite.config.mjs" }), bundleCommand("dist")]);
buildTypes("dist/types");

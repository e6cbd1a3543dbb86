import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pauseProgram } from "../../src/runtime/sandbox/pause-program.ts";

/** Two docker-archives that every runtime can import: one that sleeps, and a pause image. */
export function writeImageArchives(folder: string): { sleeper: string; pause: string } {
  const sleeperRoot = join(folder, "sleeper");
  mkdirSync(join(sleeperRoot, "bin"), { recursive: true });
  cpSync("/bin/busybox", join(sleeperRoot, "bin/busybox"));
  const pauseRoot = join(folder, "pause");
  mkdirSync(pauseRoot);
  writeFileSync(join(pauseRoot, "pause"), pauseProgram(process.arch), { mode: 0o755 });
  return {
    sleeper: writeArchive({ root: sleeperRoot, tag: sleeperImage, entrypoint: ["/bin/busybox"] }),
    pause: writeArchive({ root: pauseRoot, tag: pauseImage, entrypoint: ["/pause"] }),
  };
}

export const sleeperImage = "bench.local/sleeper:1";
export const pauseImage = "bench.local/pause:1";

function writeArchive({
  root,
  tag,
  entrypoint,
}: {
  root: string;
  tag: string;
  entrypoint: string[];
}): string {
  const staging = `${root}-archive`;
  mkdirSync(staging);
  execFileSync("tar", ["-C", root, "-cf", join(staging, "layer.tar"), "."]);
  const diffId = sha256(readFileSync(join(staging, "layer.tar")));
  const config = JSON.stringify({
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: { Entrypoint: entrypoint },
    rootfs: { type: "layers", diff_ids: [`sha256:${diffId}`] },
  });
  const configName = `${sha256(Buffer.from(config))}.json`;
  writeFileSync(join(staging, configName), config);
  const manifest = [{ Config: configName, RepoTags: [tag], Layers: ["layer.tar"] }];
  writeFileSync(join(staging, "manifest.json"), JSON.stringify(manifest));
  const archive = `${root}.tar`;
  execFileSync("tar", ["-C", staging, "-cf", archive, "manifest.json", configName, "layer.tar"]);
  return archive;
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

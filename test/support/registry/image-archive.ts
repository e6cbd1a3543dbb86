import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pauseProgram } from "../../../src/runtime/sandboxes/pause-program.ts";

interface ArchiveOptions {
  /** The image's file system. The archive is written beside it. */
  readonly root: string;
  readonly tag: string;
  readonly entrypoint?: readonly string[];
  readonly command?: readonly string[];
}

/** A docker-archive of one layer, which every runtime can import; its path. */
export function writeImageArchive({ root, tag, entrypoint, command }: ArchiveOptions): string {
  const staging = `${root}-archive`;
  mkdirSync(staging);
  execFileSync("tar", ["-C", root, "-cf", join(staging, "layer.tar"), "."]);
  const diffId = sha256(readFileSync(join(staging, "layer.tar")));
  const config = JSON.stringify({
    architecture: process.arch === "x64" ? "amd64" : process.arch,
    os: "linux",
    config: { Entrypoint: entrypoint, Cmd: command, Env: ["PATH=/bin"] },
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

export const pauseImage = "test.local/pause:1";

export function writePauseArchive(folder: string): string {
  const root = join(folder, "pause");
  mkdirSync(root, { recursive: true });
  writeFileSync(join(root, "pause"), pauseProgram(process.arch), { mode: 0o755 });
  return writeImageArchive({ root, tag: pauseImage, entrypoint: ["/pause"] });
}

function sha256(bytes: Buffer): string {
  return createHash("sha256").update(bytes).digest("hex");
}

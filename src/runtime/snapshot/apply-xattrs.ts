import { spawnSync } from "node:child_process";
import { lstatSync, readFileSync } from "node:fs";
import { emptyArchiveEnd, formatHeader, pad } from "./tar-writer.ts";

/** Attributed files go through memory once more: bigger ones than this keep their data and lose their attributes. */
const maxFileBytes = 64 << 20;

/**
 * Extended attributes (file capabilities above all). Node has no call for them; GNU tar has: the file is made once
 * more from a small archive. False when it stays without. To be called before anything is linked to the file.
 */
export function applyXattrs(root: string, path: string, all: ReadonlyMap<string, Buffer>): boolean {
  const xattrs = new Map([...all].filter(([name]) => isAllowed(name)));
  if (xattrs.size === 0) return true;
  const target = Buffer.concat([Buffer.from(`${root}/`), Buffer.from(path, "latin1")]);
  const found = lstatSync(target);
  if (found.size > maxFileBytes || !(found.isFile() || found.isDirectory())) return false;
  const data = found.isFile() ? readFileSync(target) : Buffer.alloc(0);
  const header = formatHeader({
    name: path === "" ? "./" : path,
    type: found.isFile() ? "file" : "directory",
    mode: found.mode & 0o7777,
    uid: found.uid,
    gid: found.gid,
    size: data.length,
    mtimeMs: found.mtimeMs,
    xattrs,
  });
  return runTar(root, Buffer.concat([header, pad(data), emptyArchiveEnd]));
}

/** overlayfs keeps its own marks in attributes; an archive must not set them, nor those of security modules. */
function isAllowed(name: string): boolean {
  return name === "security.capability" || (name.startsWith("user.") && !name.startsWith("user.overlay."));
}

function runTar(root: string, input: Buffer): boolean {
  const options = ["--extract", "--numeric-owner", "--same-permissions"];
  const xattrs = ["--xattrs", "--xattrs-include=*"];
  const { status } = spawnSync("tar", [...options, ...xattrs, "--directory", root, "--file", "-"], {
    input,
    stdio: ["pipe", "ignore", "ignore"],
  });
  return status === 0;
}

import { spawnSync } from "node:child_process";
import { closeSync, mkdirSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { emptyArchiveEnd, formatHeader } from "./tar-writer.ts";

/** What one file or directory shall have. */
export interface EntryXattrs {
  readonly type: "file" | "directory";
  readonly xattrs: ReadonlyMap<string, Buffer>;
}

/**
 * Sets extended attributes (file capabilities above all), for which Node has no call: GNU tar makes empty files that
 * have them, and GNU cp hands them on to the files of the same paths, whose bytes, modes, times and links stay as they
 * are. False when these stay without.
 */
export function applyXattrs(options: {
  root: string;
  /** A place of our own. */
  scratch: string;
  /** By path, one character per byte. Nothing on the way to them is a link. */
  entries: ReadonlyMap<string, EntryXattrs>;
}): boolean {
  const { root, scratch, entries } = options;
  if (entries.size === 0) return true;
  const [archive, donors] = [join(scratch, "xattrs.tar"), join(scratch, "xattrs")];
  mkdirSync(donors);
  const fd = openSync(archive, "wx");
  try {
    for (const [path, { type, xattrs }] of entries)
      writeSync(fd, formatHeader({ name: path === "" ? "./" : path, type, mode: 0o700, xattrs }));
    writeSync(fd, emptyArchiveEnd);
  } finally {
    closeSync(fd);
  }
  const copy = ["--recursive", "--attributes-only", "--preserve=xattr", "--no-target-directory"];
  return (
    run("tar", ["--extract", "--xattrs", "--xattrs-include=*", "--directory", donors, "--file", archive]) &&
    run("cp", [...copy, donors, root])
  );
}

/** overlayfs keeps its own marks in attributes; an archive must not set them, nor those of security modules. */
export function allowedXattrs(all: ReadonlyMap<string, Buffer>): ReadonlyMap<string, Buffer> {
  return new Map([...all].filter(([name]) => isAllowed(name)));
}

function isAllowed(name: string): boolean {
  return name === "security.capability" || (name.startsWith("user.") && !name.startsWith("user.overlay."));
}

function run(program: string, args: readonly string[]): boolean {
  return spawnSync(program, args, { stdio: "ignore" }).status === 0;
}

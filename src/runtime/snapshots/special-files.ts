import { spawnSync } from "node:child_process";
import { closeSync, linkSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { emptyArchiveEnd, formatHeader } from "./tar-writer.ts";

/**
 * Creates files for which Node has no call: whiteouts (character devices 0/0), opaque directories (which have an
 * attribute) and device nodes. They are created in `scratch` under generated names and moved from there.
 */
export interface SpecialFiles {
  /** Creates a whiteout. Returns false where the machine does not allow it. */
  placeWhiteout(path: Buffer): boolean;
  /**
   * Returns an empty opaque directory in scratch, to be moved into place; undefined where overlayfs cannot be mounted.
   */
  takeOpaqueDirectory(): string | undefined;
  /** Creates a node in scratch; undefined where the machine does not allow it. */
  makeNode(node: { type: "char" | "block" | "fifo"; major: number; minor: number }): string | undefined;
}

const batchSize = 64;

export function createSpecialFiles(scratch: string): SpecialFiles {
  let count = 0;
  let whiteout: string | undefined;
  const opaque: string[] = [];

  function makeNode(node: {
    type: "char" | "block" | "fifo";
    major: number;
    minor: number;
  }): string | undefined {
    const path = join(scratch, `node-${count++}`);
    const kind = { char: "c", block: "b", fifo: "p" }[node.type];
    const numbers = node.type === "fifo" ? [] : [String(node.major), String(node.minor)];
    return runSync("mknod", [path, kind, ...numbers]) ? path : undefined;
  }

  /**
   * Creates opaque directories without setting attributes: a directory that is removed and recreated in a mounted
   * overlay is opaque in the upper layer.
   */
  function makeOpaqueBatch(): void {
    const folder = join(scratch, `opaque-${count++}`);
    for (const name of ["l", "u", "w", "m"]) mkdirSync(join(folder, name), { recursive: true });
    const names = Array.from({ length: batchSize }, (_, i) => String(i));
    for (const name of names) mkdirSync(join(folder, "l", name));
    // Relative paths: the data directory's path may contain a colon or a comma.
    const options = "lowerdir=l,upperdir=u,workdir=w";
    if (!runSync("mount", ["-t", "overlay", "overlay", "-o", options, "m"], folder)) return;
    try {
      for (const name of names) {
        rmSync(join(folder, "m", name), { recursive: true });
        mkdirSync(join(folder, "m", name), 0o755);
      }
    } finally {
      runSync("umount", [join(folder, "m")]);
    }
    opaque.push(...names.map((name) => join(folder, "u", name)));
  }

  return {
    placeWhiteout(path) {
      whiteout ??= makeNode({ type: "char", major: 0, minor: 0 });
      if (whiteout === undefined) return false;
      try {
        linkSync(whiteout, path);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== "EMLINK") throw error;
        whiteout = makeNode({ type: "char", major: 0, minor: 0 });
        if (whiteout === undefined) return false;
        linkSync(whiteout, path);
      }
      return true;
    },
    takeOpaqueDirectory() {
      if (opaque.length === 0) makeOpaqueBatch();
      return opaque.pop();
    },
    makeNode,
  };
}

function runSync(program: string, args: readonly string[], cwd?: string): boolean {
  return spawnSync(program, args, { cwd, stdio: "ignore" }).status === 0;
}

/** Extended attributes of one file or directory. */
export interface EntryXattrs {
  readonly type: "file" | "directory";
  readonly xattrs: ReadonlyMap<string, Buffer>;
}

/**
 * Sets extended attributes (above all file capabilities), for which Node has no call: GNU tar creates empty files with
 * the attributes, and GNU cp copies only the attributes to the files of the same paths. Returns false when they could
 * not be set.
 */
export function applyXattrs(options: {
  root: string;
  /** Directory for temporary files. */
  scratch: string;
  /** Attributes by path, with one character per byte. No component of a path is a symbolic link. */
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
    runSync("tar", [
      "--extract",
      "--xattrs",
      "--xattrs-include=*",
      "--directory",
      donors,
      "--file",
      archive,
    ]) && runSync("cp", [...copy, donors, root])
  );
}

/** Attributes that an archive may set: neither overlayfs's own markers nor those of security modules. */
export function allowedXattrs(all: ReadonlyMap<string, Buffer>): ReadonlyMap<string, Buffer> {
  return new Map([...all].filter(([name]) => isAllowed(name)));
}

function isAllowed(name: string): boolean {
  return name === "security.capability" || (name.startsWith("user.") && !name.startsWith("user.overlay."));
}

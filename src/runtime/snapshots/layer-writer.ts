import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  futimesSync,
  lchownSync,
  linkSync,
  lutimesSync,
  mkdirSync,
  openSync,
  renameSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { ImageError } from "../errors/image-error.ts";
import {
  baseOf,
  cleanEntryPath,
  createLayerTree,
  isWhiteoutMark,
  join,
  meaningOf,
  parentOf,
} from "./layer-tree.ts";
import { allowedXattrs, applyXattrs, type EntryXattrs, type SpecialFiles } from "./special-files.ts";
import { invalidArchive, shown, type TarEntry } from "./tar-header.ts";
import type { TarSink } from "./tar-parser.ts";

/** Effects of a layer on the layers below it, and entries that could not be created. */
export interface LayerFacts {
  readonly entries: number;
  readonly whiteouts: readonly string[];
  readonly opaque: readonly string[];
  /** Directories without an entry, which take mode and owner from the layers below. */
  readonly implicit: readonly string[];
  /** Device nodes and extended attributes that could not be created on this machine. */
  readonly skipped: readonly string[];
}

export interface LayerWriter extends TarSink {
  /** Sets extended attributes and, last, the times of directories, which creating their content changed. */
  finish(): LayerFacts;
  /** Closes the open file. Called on every path. */
  dispose(): void;
}

const maxId = 0xffff_fffe;
/** Limit of attributes kept in memory until the end, and the overhead counted for each entry. */
const [maxXattrBytes, bytesPerXattrs] = [16 << 20, 256];
const create = constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_NOFOLLOW;

export function createLayerWriter(options: {
  root: string;
  scratch: string;
  special: SpecialFiles;
  maxEntries: number;
}): LayerWriter {
  const { root, scratch, special, maxEntries } = options;
  const tree = createLayerTree(root);
  const whiteouts = new Set<string>();
  const opaque = new Set<string>();
  const directoryTimes = new Map<string, number>();
  const skipped: string[] = [];
  /** Attributes by path; applied together at the end. */
  const attributed = new Map<string, EntryXattrs>();
  let xattrBytes = 0;
  let entries = 0;
  let open: { fd: number; entry: TarEntry; real: string } | undefined;

  function write(entry: TarEntry): void {
    const path = cleanEntryPath(entry.name);
    const meaning = meaningOf(path);
    switch (meaning.kind) {
      case "whiteout":
        hide(meaning.path);
        break;
      case "opaque":
        makeOpaque(tree.enter(meaning.directory));
        break;
      case "ignored":
        break;
      case "plain":
        place(path, entry);
    }
  }

  function place(path: string, entry: TarEntry): void {
    const real = path === "" ? "" : join(tree.enter(parentOf(path)), baseOf(path));
    if (entry.type !== "directory" && real === "")
      throw invalidArchive("has an entry in the place of its root");
    switch (entry.type) {
      case "directory":
        placeDirectory(real, entry);
        return;
      case "hardlink":
        placeHardLink(real, entry);
        return;
      case "file":
        // Modes are exact because the process runs with umask 0.
        open = { fd: placing(real, () => openSync(tree.at(real), create, entry.mode & 0o7777)), entry, real };
        return;
      case "symlink":
        if (entry.linkName === "" || entry.linkName.includes("\0")) {
          throw invalidArchive(`has a symbolic link to nothing: ${shown(path)}`);
        }
        placing(real, () => symlinkSync(Buffer.from(entry.linkName, "latin1"), tree.at(real)));
        break;
      default:
        free(real);
        if (!placeNode(entry, real)) return;
    }
    own(real, entry);
    if (entry.type !== "symlink") chmodSync(tree.at(real), entry.mode & 0o7777);
    lutimesSync(tree.at(real), entry.mtimeMs / 1_000, entry.mtimeMs / 1_000);
  }

  function placeDirectory(real: string, entry: TarEntry): void {
    const found = tree.stat(real);
    if (!found?.isDirectory()) {
      // A directory that replaces a path hidden by the same layer must not show the content of the layers below.
      const hides = whiteouts.has(real);
      if (found) free(real);
      mkdirSync(tree.at(real), 0o755);
      if (hides) makeOpaque(real);
    }
    tree.implicit.delete(real);
    own(real, entry);
    chmodSync(tree.at(real), entry.mode & 0o7777);
    directoryTimes.set(real, entry.mtimeMs);
    attribute(real, "directory", entry.xattrs);
  }

  function placeHardLink(real: string, entry: TarEntry): void {
    const target = tree.locate(cleanEntryPath(entry.linkName));
    const found = target === undefined ? undefined : tree.stat(target);
    if (target === undefined || !found || found.isDirectory() || isWhiteoutMark(found)) {
      throw invalidArchive(`has a hard link to ${shown(entry.linkName)}, which the layer does not have`);
    }
    if (target === real) return;
    free(real);
    linkSync(tree.at(target), tree.at(real));
    attribute(real, "file", attributed.get(target)?.xattrs ?? new Map());
  }

  function placeNode(entry: TarEntry, real: string): boolean {
    const { deviceMajor: major, deviceMinor: minor } = entry;
    const type = entry.type === "char" || entry.type === "block" ? entry.type : "fifo";
    // A character device 0/0 is overlayfs's whiteout marker, not a device.
    const isMark = type === "char" && major === 0 && minor === 0;
    const node = isMark ? undefined : special.makeNode({ type, major, minor });
    if (node === undefined) skipped.push(real);
    else renameSync(node, tree.at(real));
    return node !== undefined;
  }

  function hide(path: string): void {
    const real = join(tree.enter(parentOf(path)), baseOf(path));
    const found = tree.stat(real);
    // A whiteout refers to the layers below: what this layer itself has at the path stays.
    if (found?.isDirectory()) {
      makeOpaque(real);
      return;
    }
    whiteouts.add(real);
    if (!found) special.placeWhiteout(tree.at(real));
  }

  function makeOpaque(real: string): void {
    if (opaque.has(real)) return;
    opaque.add(real);
    if (real === "") return;
    const directory = special.takeOpaqueDirectory();
    if (directory !== undefined) tree.replaceDirectory(real, directory);
  }

  /** Creates an entry. Most names are new, so the path is checked only when it turns out to be in use. */
  function placing<T>(real: string, make: () => T): T {
    try {
      return make();
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
      free(real);
      return make();
    }
  }

  /** Removes an earlier entry of the same name, which the current one replaces. */
  function free(real: string): void {
    const found = tree.stat(real);
    if (!found) return;
    tree.clear(real);
    attributed.delete(real);
    if (!found.isDirectory()) return;
    for (const known of [directoryTimes, opaque, attributed])
      for (const path of known.keys()) if (isWithin(path, real)) known.delete(path);
  }

  function attribute(real: string, type: EntryXattrs["type"], all: TarEntry["xattrs"]): void {
    const xattrs = allowedXattrs(all);
    if (xattrs.size === 0) return;
    for (const [name, value] of xattrs) xattrBytes += name.length + value.length;
    xattrBytes += bytesPerXattrs;
    if (xattrBytes > maxXattrBytes)
      throw new ImageError("tooLarge", `the archive has more than ${maxXattrBytes} bytes of attributes`);
    attributed.set(real, { type, xattrs });
  }

  function own(real: string, { uid, gid }: TarEntry): void {
    if (uid > maxId || gid > maxId) throw invalidArchive(`has an owner that cannot be: ${uid}:${gid}`);
    if (uid !== 0 || gid !== 0) lchownSync(tree.at(real), uid, gid);
  }

  return {
    entry(entry) {
      if (++entries > maxEntries) {
        throw new ImageError("tooLarge", `the archive has more than ${maxEntries} entries`);
      }
      write(entry);
    },
    data(bytes) {
      if (!open) return;
      let written = 0;
      while (written < bytes.length) written += writeSync(open.fd, bytes, written);
    },
    endEntry() {
      if (!open) return;
      const { fd, entry, real } = open;
      if (entry.uid > maxId || entry.gid > maxId) throw invalidArchive("has an owner that cannot be");
      if (entry.uid !== 0 || entry.gid !== 0) {
        fchownSync(fd, entry.uid, entry.gid);
        // A change of owner clears the set-user-id bit.
        fchmodSync(fd, entry.mode & 0o7777);
      }
      futimesSync(fd, entry.mtimeMs / 1_000, entry.mtimeMs / 1_000);
      open = undefined;
      closeSync(fd);
      attribute(real, "file", entry.xattrs);
    },
    finish() {
      if (!applyXattrs({ root, scratch, entries: attributed })) skipped.push(...attributed.keys());
      for (const [path, timeMs] of directoryTimes) {
        if (tree.stat(path)) lutimesSync(tree.at(path), timeMs / 1_000, timeMs / 1_000);
      }
      return {
        entries,
        whiteouts: [...whiteouts],
        opaque: [...opaque],
        implicit: [...tree.implicit],
        skipped,
      };
    },
    dispose() {
      if (open) closeSync(open.fd);
      open = undefined;
    },
  };
}

function isWithin(path: string, directory: string): boolean {
  return path === directory || path.startsWith(`${directory}/`);
}

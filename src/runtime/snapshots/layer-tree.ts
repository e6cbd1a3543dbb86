import {
  chmodSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  type Stats,
} from "node:fs";
import { invalidArchive, shown } from "./tar-header.ts";

const maxSymlinkHops = 40;

/**
 * Directory that a layer is unpacked into. Paths are relative, with one character per byte. Every component is checked
 * before it is entered, and symbolic links are resolved as if the directory were `/`, so that no path of an archive
 * leads outside. Nothing else writes below the directory during unpacking, so the check is not a race.
 */
export interface LayerTree {
  /** Absolute path on disk of a relative path. */
  at(path: string): Buffer;
  /** Returns the directory's path without symbolic links, and creates missing directories. */
  enter(directory: string): string;
  /** Returns a path without symbolic links; undefined when it does not exist. */
  locate(path: string): string | undefined;
  stat(path: string): Stats | undefined;
  /** Removes whatever has the path. */
  clear(path: string): void;
  /** Drops the cache of entered directories, whose paths may have changed. */
  forget(): void;
  /**
   * Replaces a directory by `replacement`, an empty directory elsewhere on the same file system, and moves the content.
   */
  replaceDirectory(path: string, replacement: string): void;
  /** Directories that have no entry and only appear in the paths of others. */
  readonly implicit: Set<string>;
}

export function createLayerTree(root: string): LayerTree {
  const base = Buffer.from(`${root}/`);
  const entered = new Map<string, string>([["", ""]]);
  const implicit = new Set<string>();

  const at = (path: string) => Buffer.concat([base, Buffer.from(path, "latin1")]);
  const stat = (path: string) => lstatSync(at(path), { throwIfNoEntry: false });

  /** Resolves `path` from the root; `onMissing` decides whether to continue at a missing name. */
  function walk(path: string, onMissing: (path: string) => boolean): string | undefined {
    const parts = path.split("/").filter(isNamed);
    let real = "";
    let hops = 0;
    for (let part = parts.shift(); part !== undefined; part = parts.shift()) {
      if (part === "..") {
        real = parentOf(real);
        continue;
      }
      const next = join(real, part);
      const found = stat(next);
      if (!found) {
        if (!onMissing(next)) return undefined;
        real = next;
      } else if (found.isDirectory()) {
        real = next;
      } else if (found.isSymbolicLink()) {
        if (++hops > maxSymlinkHops) throw invalidArchive(`has symbolic links in a circle at ${shown(path)}`);
        const target = readlinkSync(at(next), "latin1");
        if (target.startsWith("/")) real = "";
        parts.unshift(...target.split("/").filter(isNamed));
      } else {
        throw invalidArchive(`has an entry below ${shown(next)}, which is not a directory`);
      }
    }
    return real;
  }

  function makeImplicit(path: string): boolean {
    mkdirSync(at(path), 0o755);
    implicit.add(path);
    return true;
  }

  return {
    at,
    stat,
    implicit,
    enter(directory) {
      const known = entered.get(directory);
      if (known !== undefined) return known;
      const real = walk(directory, makeImplicit) ?? "";
      entered.set(directory, real);
      return real;
    },
    locate(path) {
      const parent = walk(parentOf(path), () => false);
      if (parent === undefined) return undefined;
      const real = join(parent, baseOf(path));
      return stat(real) ? real : undefined;
    },
    clear(path) {
      rmSync(at(path), { recursive: true, force: true });
      entered.clear();
      entered.set("", "");
      for (const known of implicit)
        if (known === path || known.startsWith(`${path}/`)) implicit.delete(known);
    },
    forget() {
      entered.clear();
      entered.set("", "");
    },
    replaceDirectory(path, replacement) {
      const { mode, uid, gid } = lstatSync(at(path));
      for (const name of readdirSync(at(path), "latin1")) {
        renameSync(
          at(join(path, name)),
          Buffer.concat([Buffer.from(`${replacement}/`), Buffer.from(name, "latin1")]),
        );
      }
      lchownSync(replacement, uid, gid);
      chmodSync(replacement, mode & 0o7777);
      rmdirSync(at(path));
      renameSync(replacement, at(path));
    },
  };
}

/** Whether the file is overlayfs's whiteout marker. */
export function isWhiteoutMark(found: Stats): boolean {
  return found.isCharacterDevice() && found.rdev === 0;
}

export function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash === -1 ? "" : path.slice(0, slash);
}

export function baseOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

export function join(directory: string, name: string): string {
  return directory === "" ? name : `${directory}/${name}`;
}

function isNamed(part: string): boolean {
  return part !== "" && part !== ".";
}

const maxPathLength = 4_096;

/**
 * Returns an entry's name as a path below the root, without a leading slash and `.` parts. Rejects names with `..`,
 * which no image tool writes.
 */
export function cleanEntryPath(name: string): string {
  if (name.includes("\0")) throw invalidArchive("has a name with a NUL byte");
  if (name.length > maxPathLength) throw invalidArchive(`has a name of ${name.length} bytes`);
  const parts = name.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..")) throw invalidArchive(`has an entry that leaves the root: ${shown(name)}`);
  return parts.join("/");
}

type EntryMeaning =
  | { readonly kind: "plain" }
  /** The path is removed from the layers below. */
  | { readonly kind: "whiteout"; readonly path: string }
  /** The content of the directory in the layers below is hidden. */
  | { readonly kind: "opaque"; readonly directory: string }
  /** Metadata of aufs, not part of the image. */
  | { readonly kind: "ignored" };

/** Interprets `.wh.` names as the image specification defines them. */
export function meaningOf(path: string): EntryMeaning {
  const slash = path.lastIndexOf("/");
  const directory = slash === -1 ? "" : path.slice(0, slash);
  const name = path.slice(slash + 1);
  if (!name.startsWith(".wh.")) return { kind: "plain" };
  if (name === ".wh..wh..opq") return { kind: "opaque", directory };
  if (name.startsWith(".wh..wh.")) return { kind: "ignored" };
  const hidden = name.slice(".wh.".length);
  if (hidden === "" || hidden === "." || hidden === "..") {
    throw invalidArchive(`has a whiteout that names nothing: ${shown(path)}`);
  }
  return { kind: "whiteout", path: directory === "" ? hidden : `${directory}/${hidden}` };
}

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
 * The directory a layer is unpacked into. Paths are relative, one character per byte. Every component is looked at
 * before it is entered, and symbolic links are followed as if the directory were `/`, so that no path of an archive
 * leads outside. Nobody else writes below the directory while it is unpacked: looking first is not a race.
 */
export interface LayerTree {
  /** Where a relative path really is on disk. */
  at(path: string): Buffer;
  /** The directory's path without symbolic links; directories that are missing on the way are made. */
  enter(directory: string): string;
  /** The same for a path that must exist: the target of a hard link. */
  locate(path: string): string | undefined;
  stat(path: string): Stats | undefined;
  /** Frees a name. */
  clear(path: string): void;
  /** Paths that were entered may lead elsewhere now. */
  forget(): void;
  /** Puts `replacement`, an empty directory elsewhere on the same file system, in the place of a directory. */
  replaceDirectory(path: string, replacement: string): void;
  /** Directories that no entry named, only the paths of others. */
  readonly implicit: Set<string>;
}

export function createLayerTree(root: string): LayerTree {
  const base = Buffer.from(`${root}/`);
  const entered = new Map<string, string>([["", ""]]);
  const implicit = new Set<string>();

  const at = (path: string) => Buffer.concat([base, Buffer.from(path, "latin1")]);
  const stat = (path: string) => lstatSync(at(path), { throwIfNoEntry: false });

  /** Follows `path` from the root; `onMissing` says whether to go on at a name that is not there. */
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

/** overlayfs's mark for what a layer hides, and has not put anything in the place of. */
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

import {
  closeSync,
  constants,
  fstatSync,
  mkdirSync,
  openSync,
  readlinkSync,
  type Stats,
  statfsSync,
} from "node:fs";
import { messageOf } from "../../lib/message-of.ts";
import { DriverError } from "./driver.ts";

/** File tree of a container: its root file system and the mounts at resolved destinations, parents first. */
export interface ContainerTree {
  readonly rootfs: string;
  readonly mounted: readonly { readonly destination: string; readonly content: MountContent }[];
}

/** Content of a mount. Host directories and files can be read; `/dev`, `/proc` and `/sys` do not exist yet. */
type MountContent =
  | { readonly kind: "host"; readonly source: string; readonly readonly: boolean }
  | { readonly kind: "dev" | "proc" | "sys" };

export interface ResolvedPath {
  /** Absolute path inside the container, without links and `..`. */
  readonly path: string;
  /** Type; `virtual` in `/dev`, `/proc` and `/sys`, whose content is not known yet. */
  readonly type: "directory" | "file" | "other" | "missing" | "virtual";
  /** Links that were followed, such as `/var/run -> /run`. */
  readonly links: readonly string[];
}

/** Maximum number of links, as in Linux. */
const maxLinks = 40;
/** Maximum depth; each level holds a file descriptor. */
const maxDepth = 256;
/** Linux's O_PATH, missing in Node's constants: opens the entry itself, without opening a device or pipe. */
const O_PATH = 0o10000000;
const procMagic = 0x9fa0;

/** Links that OCI runtimes and the host driver create in a new /dev. */
const devLinks = new Map([
  ["/dev/fd", "/proc/self/fd"],
  ["/dev/stdin", "/proc/self/fd/0"],
  ["/dev/stdout", "/proc/self/fd/1"],
  ["/dev/stderr", "/proc/self/fd/2"],
  ["/dev/ptmx", "pts/ptmx"],
]);

/** Magic links of /proc and directories of them: the kernel follows them to objects, not to paths. */
const magicLink =
  /^\/proc\/(?:self|thread-self|\d+)\/(?:task\/\d+\/)?(?:cwd|exe|root|fd|map_files|ns)(?:\/|$)/;

/**
 * Resolves a path with the container's root as `/`, as openat2 does with RESOLVE_IN_ROOT: absolute links and `..` stay
 * inside, magic links are rejected. Every name is opened relative to its open directory without following links, so
 * that a container that changes a volume meanwhile cannot lead the walk outside. Names after a missing one are kept.
 */
export function resolveInRoot(tree: ContainerTree, path: string): ResolvedPath {
  return walk({ tree, path, onLink: "follow" });
}

/**
 * Creates the missing parts of a resolved path. A link means that the path has changed since it was resolved, and is
 * rejected. Nothing is created in `/dev`, `/proc` and `/sys`.
 */
export function makeInRoot(tree: ContainerTree, path: string, kind: "directory" | "file"): ResolvedPath {
  return walk({ tree, path, onLink: "reject", make: kind });
}

const kernelLink = "it is a link of the kernel that can lead out of the container";
const replaced = "it was replaced while the container was created";

interface Walk {
  readonly tree: ContainerTree;
  readonly path: string;
  readonly onLink: "follow" | "reject";
  readonly make?: "directory" | "file";
}

type Place = { readonly path: string } & (
  | {
      readonly kind: "open";
      readonly fd: number;
      readonly type: "directory" | "file" | "other";
      /** Destination of the read-only mount that contains it. */
      readonly readonlyMount: string | undefined;
    }
  | { readonly kind: "dev" | "proc" | "sys" }
  | { readonly kind: "missing" }
);

function walk({ tree, path, onLink, make }: Walk): ResolvedPath {
  if (path.includes("\0")) throw refused(path, "it contains a NUL character");
  const pending = namesOf(path);
  const links: string[] = [];
  const above: Place[] = [];
  let here = openMount(tree, "/") ?? openHost("/", tree.rootfs, undefined);
  try {
    for (let name = pending.shift(); name !== undefined; name = pending.shift()) {
      if (here.kind === "open" && here.type !== "directory")
        throw refused(path, `${here.path} is not a directory${through(links)}`);
      if (name === "..") {
        const parent = above.pop();
        if (parent) {
          close(here);
          here = parent;
        }
        continue;
      }
      const next = `${here.path === "/" ? "" : here.path}/${name}`;
      const create = pending.length > 0 ? make && "directory" : make;
      const found = openMount(tree, next) ?? enter(here, { path: next, name, create });
      if (found.kind !== "link") {
        above.push(here);
        here = found;
        if (above.length > maxDepth) throw refused(path, `it is nested more than ${maxDepth} deep`);
        if (here.kind === "proc" && magicLink.test(next))
          throw refused(path, `${next}: ${kernelLink}${through(links)}`);
        continue;
      }
      links.push(`${next} -> ${found.target}`);
      if (onLink === "reject") throw refused(path, `${replaced}${through(links)}`);
      if (links.length > maxLinks)
        throw refused(
          path,
          `it goes through more than ${maxLinks} symbolic links${through(links.slice(0, 3))}`,
        );
      if (found.target.startsWith("/")) {
        const [root, ...rest] = [...above, here];
        for (const place of rest) close(place);
        above.length = 0;
        here = root ?? here;
      }
      pending.unshift(...namesOf(found.target));
    }
    return { path: here.path, type: typeOf(here), links };
  } catch (error) {
    throw error instanceof DriverError ? error : refused(path, messageOf(error));
  } finally {
    for (const place of [...above, here]) close(place);
  }
}

type Entry = Place | { readonly kind: "link"; readonly target: string };

function enter(
  here: Place,
  { path, name, create }: { path: string; name: string; create: Walk["make"] },
): Entry {
  switch (here.kind) {
    case "dev": {
      const target = devLinks.get(path);
      return target === undefined ? { kind: "dev", path } : { kind: "link", target };
    }
    case "proc":
    case "sys":
      return { kind: here.kind, path };
    case "missing":
      return { kind: "missing", path };
    case "open":
      return lookUp(here, { path, name, create });
  }
}

function lookUp(
  here: Extract<Place, { kind: "open" }>,
  { path, name, create }: { path: string; name: string; create: Walk["make"] },
): Entry {
  const entry = `/proc/self/fd/${here.fd}/${name}`;
  let fd = openEntry(entry);
  if (fd === undefined && create) {
    if (here.readonlyMount !== undefined)
      throw refused(path, `it does not exist, and the mount at ${here.readonlyMount} is read-only`);
    createEntry(entry, create);
    fd = openEntry(entry);
    if (fd === undefined) throw refused(path, replaced);
  }
  if (fd === undefined) return { kind: "missing", path };
  const stats = fstatSync(fd);
  if (!stats.isSymbolicLink())
    return { kind: "open", path, fd, type: fileType(stats), readonlyMount: here.readonlyMount };
  closeSync(fd);
  if (statfsSync(`/proc/self/fd/${here.fd}`).type === procMagic) throw refused(path, kernelLink);
  return { kind: "link", target: readlinkSync(entry) };
}

function openEntry(path: string): number | undefined {
  try {
    return openSync(path, O_PATH | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Creates an entry. EEXIST: another container has created it meanwhile; the caller checks it. */
function createEntry(path: string, kind: "directory" | "file"): void {
  const { O_CREAT, O_EXCL, O_WRONLY } = constants;
  try {
    if (kind === "directory") mkdirSync(path, { mode: 0o755 });
    else closeSync(openSync(path, O_CREAT | O_EXCL | O_WRONLY, 0o644));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

function openMount({ mounted }: ContainerTree, path: string): Place | undefined {
  const content = mounted.findLast(({ destination }) => destination === path)?.content;
  if (content?.kind !== "host") return content && { kind: content.kind, path };
  return openHost(path, content.source, content.readonly ? path : undefined);
}

/** Opens a root file system or volume. Their paths are the administrator's, so links in them are followed. */
function openHost(path: string, source: string, readonlyMount: string | undefined): Place {
  const fd = openSync(source, O_PATH);
  return { kind: "open", path, fd, type: fileType(fstatSync(fd)), readonlyMount };
}

function fileType(stats: Stats): "directory" | "file" | "other" {
  if (stats.isDirectory()) return "directory";
  return stats.isFile() ? "file" : "other";
}

function typeOf(place: Place): ResolvedPath["type"] {
  if (place.kind === "open") return place.type;
  return place.kind === "missing" ? "missing" : "virtual";
}

function close(place: Place): void {
  if (place.kind === "open") closeSync(place.fd);
}

function through(links: readonly string[]): string {
  return links.length > 0 ? ` (through ${links.join(", ")})` : "";
}

function refused(path: string, why: string): DriverError {
  return new DriverError("invalid", `path ${path} cannot be used in the container: ${why}`);
}

function namesOf(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

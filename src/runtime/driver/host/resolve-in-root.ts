import { lstatSync, mkdirSync, readlinkSync, writeFileSync } from "node:fs";
import { join, posix } from "node:path";

/** A tree as the container will see it: its root file system with other directories mounted over parts of it. */
export interface ContainerTree {
  readonly rootfs: string;
  /** Destination (inside, resolved) to source (on the host), in the order of mounting. */
  readonly mounted: readonly { readonly destination: string; readonly source: string }[];
}

const maxLinks = 40;

/**
 * Follows a path the way it will be followed inside: links, absolute ones too, lead to places in the tree and never
 * out of it. The answer has no links left.
 */
export function resolveInTree(tree: ContainerTree, path: string): string {
  const todo = split(path);
  let at = "/";
  let links = 0;
  for (let name = todo.shift(); name !== undefined; name = todo.shift()) {
    if (name === "..") {
      at = posix.dirname(at);
      continue;
    }
    const next = posix.join(at, name);
    const target = linkTarget(hostPath(tree, next));
    if (target === undefined) {
      at = next;
      continue;
    }
    if (++links > maxLinks) throw new Error(`${path}: too many links`);
    if (target.startsWith("/")) at = "/";
    todo.unshift(...split(target));
  }
  return at;
}

/** Where a link-free path of the container is on the host. */
export function hostPath(tree: ContainerTree, path: string): string {
  const over = tree.mounted.findLast(
    ({ destination }) => path === destination || path.startsWith(`${destination}/`),
  );
  return over ? join(over.source, path.slice(over.destination.length)) : join(tree.rootfs, path);
}

/** Makes something to mount on, unless it is there. */
export function ensureTarget(tree: ContainerTree, path: string, kind: "directory" | "file"): void {
  const target = hostPath(tree, path);
  if (lstatSync(target, { throwIfNoEntry: false })) return;
  if (kind === "directory") {
    mkdirSync(target, { recursive: true, mode: 0o755 });
    return;
  }
  mkdirSync(posix.dirname(target), { recursive: true, mode: 0o755 });
  writeFileSync(target, "", { flag: "wx", mode: 0o644 });
}

function linkTarget(path: string): string | undefined {
  if (!lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink()) return undefined;
  return readlinkSync(path);
}

function split(path: string): string[] {
  return path.split("/").filter((name) => name !== "" && name !== ".");
}

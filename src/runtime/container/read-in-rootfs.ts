import { lstat, readFile, readlink } from "node:fs/promises";
import { join } from "node:path";

const mostLinks = 40;
/** More than any passwd: an image cannot make the daemon read without end. */
const mostBytes = 4 * 1_024 * 1_024;

/**
 * The host path of a path in an image, every link on the way followed as if the image were the root: `..` and
 * absolute links never lead out. Undefined where something on the way is missing.
 */
export async function resolveInRootfs(rootfs: string, path: string): Promise<string | undefined> {
  let pending = path.split("/");
  let resolved: string[] = [];
  let links = 0;
  while (pending.length > 0) {
    const [part = "", ...rest] = pending;
    pending = rest;
    if (part === "" || part === ".") continue;
    if (part === "..") {
      resolved = resolved.slice(0, -1);
      continue;
    }
    const here = join(rootfs, ...resolved, part);
    const entry = await lstat(here).catch(() => undefined);
    if (!entry) return undefined;
    if (!entry.isSymbolicLink()) {
      resolved = [...resolved, part];
      continue;
    }
    if (++links > mostLinks) return undefined;
    const target = await readlink(here);
    if (target.startsWith("/")) resolved = [];
    pending = [...target.split("/"), ...pending];
  }
  return join(rootfs, ...resolved);
}

/** A regular file of an image as text; empty where there is none. */
export async function readInRootfs(rootfs: string, path: string): Promise<string> {
  const resolved = await resolveInRootfs(rootfs, path);
  if (resolved === undefined) return "";
  const entry = await lstat(resolved);
  if (!entry.isFile() || entry.size > mostBytes) return "";
  return readFile(resolved, "utf8");
}

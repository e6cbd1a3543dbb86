import { lstat, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DriverError } from "../drivers/driver.ts";
import { resolveInRoot } from "../drivers/resolve-in-root.ts";
import { invalidArgument } from "../errors/runtime-error.ts";

/** User that a container requests. */
export interface UserRequest {
  /** `user`, `uid`, `user:group` or `uid:gid`, as in images and CRI; empty means root. */
  readonly user: string;
  /** Overrides the group in `user`. */
  readonly group: number | undefined;
  readonly supplementalGroups: readonly number[];
  /** Whether to add the groups of the user in the image's /etc/group. */
  readonly mergeImageGroups: boolean;
}

/** Content of the image's user files; empty if missing. */
export interface UserFiles {
  readonly passwd: string;
  readonly group: string;
}

export interface ResolvedUser {
  readonly uid: number;
  readonly gid: number;
  readonly additionalGids: readonly number[];
}

const maxId = 2 ** 31 - 1;

/**
 * Resolves a user. Names are looked up; a number is always used as such, because an image whose passwd names root
 * `1000` must not run a pod with user 1000 as root. A number without an entry has group 0.
 */
export function resolveUser(request: UserRequest, files: UserFiles): ResolvedUser {
  const [userPart = "", groupPart = ""] = request.user.split(":");
  const account = findAccount(userPart || "0", files.passwd);
  const gid = request.group ?? (groupPart ? findGroup(groupPart, files.group) : account.gid);
  const fromImage = request.mergeImageGroups ? groupsOf(account.name, files.group) : [];
  const additionalGids = [...new Set([gid, ...request.supplementalGroups, ...fromImage])];
  return { uid: account.uid, gid, additionalGids };
}

function findAccount(user: string, passwd: string): { name: string; uid: number; gid: number } {
  const accounts = rows(passwd).map(([name = "", , uid, gid]) => ({
    name,
    uid: Number(uid),
    gid: Number(gid),
  }));
  if (isId(user)) {
    const uid = Number(user);
    return accounts.find((account) => account.uid === uid) ?? { name: "", uid, gid: 0 };
  }
  const byName = accounts.find(({ name }) => name === user);
  if (!byName) throw invalidArgument(`user ${user} is not in the image's /etc/passwd`);
  return byName;
}

function findGroup(group: string, groupFile: string): number {
  if (isId(group)) return Number(group);
  const byName = rows(groupFile).find(([name]) => name === group);
  if (!byName) throw invalidArgument(`group ${group} is not in the image's /etc/group`);
  return Number(byName[2]);
}

function groupsOf(name: string, groupFile: string): number[] {
  if (name === "") return [];
  return rows(groupFile)
    .filter(([, , , members = ""]) => members.split(",").includes(name))
    .map(([, , gid]) => Number(gid));
}

function isId(text: string): boolean {
  return /^\d+$/.test(text) && Number(text) <= maxId;
}

/** Fields of the lines that have a valid ID; other lines are ignored. */
function rows(file: string): string[][] {
  return file
    .split("\n")
    .map((line) => line.trim().split(":"))
    .filter((fields) => fields.length >= 3 && isId(fields[2] ?? ""));
}

/** Maximum size of a file that is read; larger than any passwd file. */
const maxBytes = 4 * 1_024 * 1_024;

/**
 * Resolves a path in an image to a host path, with every symbolic link resolved as if the image were the root: `..` and
 * absolute links never lead outside. Undefined if the path does not exist or cannot be resolved.
 */
export function resolveInRootfs(rootfs: string, path: string): string | undefined {
  try {
    const resolved = resolveInRoot({ rootfs, mounted: [] }, path);
    return resolved.type === "missing" ? undefined : join(rootfs, resolved.path);
  } catch (error) {
    if (error instanceof DriverError) return undefined;
    throw error;
  }
}

/** Reads a regular file of an image as text; empty if there is none. */
export async function readInRootfs(rootfs: string, path: string): Promise<string> {
  const resolved = resolveInRootfs(rootfs, path);
  if (resolved === undefined) return "";
  const entry = await lstat(resolved);
  if (!entry.isFile() || entry.size > maxBytes) return "";
  return readFile(resolved, "utf8");
}

import { invalidArgument } from "../runtime-error.ts";

/** Who a container asks to run as. */
export interface UserRequest {
  /** `user`, `uid`, `user:group` or `uid:gid`, as images and CRI write it; empty: root. */
  readonly user: string;
  /** Wins over the group in `user`. */
  readonly group: number | undefined;
  readonly supplementalGroups: readonly number[];
  /** Whether the groups that the image's /etc/group gives the user count as well. */
  readonly mergeImageGroups: boolean;
}

/** The image's own files; empty where it has none. */
export interface UserFiles {
  readonly passwd: string;
  readonly group: string;
}

export interface ResolvedUser {
  readonly uid: number;
  readonly gid: number;
  readonly additionalGids: readonly number[];
}

const mostId = 2 ** 31 - 1;

/**
 * Names are looked up. A number is always that number: an image whose passwd calls root `1000` must not make root of a
 * pod that runs as 1000. One that no file knows has group 0.
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
  return /^\d+$/.test(text) && Number(text) <= mostId;
}

/** Lines whose ids are ids: whatever else stands in an image's files does not count. */
function rows(file: string): string[][] {
  return file
    .split("\n")
    .map((line) => line.trim().split(":"))
    .filter((fields) => fields.length >= 3 && isId(fields[2] ?? ""));
}

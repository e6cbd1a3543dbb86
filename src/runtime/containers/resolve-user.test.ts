import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { readInRootfs, resolveUser } from "./resolve-user.ts";

const files = {
  passwd: "root:x:0:0:root:/root:/bin/sh\nweb:x:101:102::/srv:/bin/false\nbroken\nodd:x:abc:1::/:/bin/sh\n",
  group: "root:x:0:root\nweb:x:102:\nlogs:x:200:web,other\ndisk:x:300:other\n",
};
const base = { user: "", group: undefined, supplementalGroups: [], mergeImageGroups: true };

test.each([
  ["defaults to root", base, { uid: 0, gid: 0, additionalGids: [0] }],
  ["resolves a name", { ...base, user: "web" }, { uid: 101, gid: 102, additionalGids: [102, 200] }],
  [
    "resolves a UID with an entry",
    { ...base, user: "101" },
    { uid: 101, gid: 102, additionalGids: [102, 200] },
  ],
  [
    "uses group 0 for a UID without an entry",
    { ...base, user: "5000" },
    { uid: 5000, gid: 0, additionalGids: [0] },
  ],
  [
    "resolves user and group names",
    { ...base, user: "web:logs" },
    { uid: 101, gid: 200, additionalGids: [200] },
  ],
  ["keeps UID and GID", { ...base, user: "7:8" }, { uid: 7, gid: 8, additionalGids: [8] }],
  [
    "prefers run_as_group",
    { ...base, user: "web", group: 9 },
    { uid: 101, gid: 9, additionalGids: [9, 200] },
  ],
  [
    "strict groups",
    { ...base, user: "web", supplementalGroups: [77], mergeImageGroups: false },
    { uid: 101, gid: 102, additionalGids: [102, 77] },
  ],
])("%s", (_name, request, user) => {
  expect(resolveUser(request, files)).toEqual(user);
});

test.each([
  ["nobody", "user nobody is not in the image's /etc/passwd"],
  ["web:nogroup", "group nogroup is not in the image's /etc/group"],
  ["99999999999", "user 99999999999 is not in the image's /etc/passwd"],
  ["odd", "user odd is not in the image's /etc/passwd"],
])("rejects %s", (user, message) => {
  expect(() => resolveUser({ ...base, user }, files)).toThrow(message);
});

let outside: string;
let rootfs: string;

beforeEach(async () => {
  outside = await mkdtemp(join(tmpdir(), "kindling-rootfs-"));
  rootfs = join(outside, "rootfs");
  await mkdir(join(rootfs, "etc"), { recursive: true });
  await writeFile(join(outside, "secret"), "the host's");
  await writeFile(join(rootfs, "secret"), "the image's");
});
afterEach(() => rm(outside, { recursive: true, force: true }));

test("reads a file", async () => {
  await writeFile(join(rootfs, "etc/passwd"), "root:x:0:0");
  expect(await readInRootfs(rootfs, "/etc/passwd")).toBe("root:x:0:0");
});

test.each(["../../../secret", "/secret", "../secret", "../etc/../../secret"])(
  "resolves a link to %s inside the image",
  async (target) => {
    await symlink(target, join(rootfs, "etc/passwd"));
    expect(await readInRootfs(rootfs, "/etc/passwd")).toBe("the image's");
  },
);

test("resolves a linked directory inside the image", async () => {
  await rm(join(rootfs, "etc"), { recursive: true });
  await symlink("../..", join(rootfs, "etc"));
  expect(await readInRootfs(rootfs, "/etc/secret")).toBe("the image's");
});

test.each(["missing", "a directory", "a loop"])("reads as empty: %s", async (what) => {
  if (what === "a directory") await mkdir(join(rootfs, "etc/passwd"));
  if (what === "a loop") await symlink("passwd", join(rootfs, "etc/passwd"));
  expect(await readInRootfs(rootfs, "/etc/passwd")).toBe("");
});

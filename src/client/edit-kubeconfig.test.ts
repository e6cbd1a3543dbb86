import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../lib/clock.ts";
import { editKubeconfig, usersKubeconfig } from "./edit-kubeconfig.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-edit-"));
  file = join(folder, "config");
});
afterEach(() => rm(folder, { recursive: true }));

const edit = (change: (text: string) => string | undefined, path = file) =>
  editKubeconfig(path, { clock: systemClock, change });

test.each([
  [undefined, join(homedir(), ".kube", "config")],
  ["", join(homedir(), ".kube", "config")],
  ["/a", "/a"],
  [":/a:/b", "/a"],
])("$KUBECONFIG %j: %s", (variable, expected) => {
  expect(usersKubeconfig(variable)).toBe(expected);
});

test("a new file is private, and so is a folder made for it", async () => {
  const deep = join(folder, ".kube", "config");
  await edit((text) => `${text}new`, deep);
  expect(await readFile(deep, "utf8")).toBe("new");
  expect((await stat(deep)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, ".kube"))).mode & 0o777).toBe(0o700);
});

test("an existing file keeps its owner's rights and loses those of others", async () => {
  await writeFile(file, "old");
  await chmod(file, 0o644);
  await edit((text) => `${text}+`);
  expect(await readFile(file, "utf8")).toBe("old+");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["config"]);
});

test("a link stays a link", async () => {
  await writeFile(join(folder, "real"), "old");
  await symlink("real", file);
  await edit(() => "changed");
  expect(await readFile(join(folder, "real"), "utf8")).toBe("changed");
  expect(
    (await readdir(folder, { withFileTypes: true })).find(({ name }) => name === "config")?.isSymbolicLink(),
  ).toBe(true);
});

test("nothing to change, or a failure, leaves it as it was", async () => {
  await writeFile(file, "old");
  const before = (await stat(file)).ino;
  await edit(() => undefined);
  await expect(
    edit(() => {
      throw new Error("it is broken");
    }),
  ).rejects.toThrow(`the kubeconfig ${file} was not changed: it is broken`);
  expect((await stat(file)).ino).toBe(before);
  expect(await readdir(folder)).toEqual(["config"]);
});

test("who has the lock is waited for, and named when it stays", async () => {
  await writeFile(`${file}.lock`, "");
  const now = { now: () => 0, sleep: async () => {} };
  const held = editKubeconfig(file, { clock: now, change: () => "x" });
  await expect(held).rejects.toThrow(`another program is changing it; if none is, remove ${file}.lock`);
  expect(await readdir(folder)).toEqual(["config.lock"]);
  const released = { now: () => 0, sleep: () => rm(`${file}.lock`, { force: true }) };
  await editKubeconfig(file, { clock: released, change: () => "x" });
  expect(await readdir(folder)).toEqual(["config"]);
});

test("a folder is no kubeconfig", async () => {
  await mkdir(file);
  await expect(edit(() => "x")).rejects.toThrow("it is not a file");
});

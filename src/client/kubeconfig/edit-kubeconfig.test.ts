import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { systemClock } from "../../lib/clock.ts";
import { editKubeconfig, usersKubeconfig } from "./merge-kubeconfig.ts";

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

test("creates a private file and folder", async () => {
  const deep = join(folder, ".kube", "config");
  await edit((text) => `${text}new`, deep);
  expect(await readFile(deep, "utf8")).toBe("new");
  expect((await stat(deep)).mode & 0o777).toBe(0o600);
  expect((await stat(join(folder, ".kube"))).mode & 0o777).toBe(0o700);
});

test("keeps the owner's permissions and removes those of others", async () => {
  await writeFile(file, "old");
  await chmod(file, 0o644);
  await edit((text) => `${text}+`);
  expect(await readFile(file, "utf8")).toBe("old+");
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect(await readdir(folder)).toEqual(["config"]);
});

test("keeps a symbolic link", async () => {
  await writeFile(join(folder, "real"), "old");
  await symlink("real", file);
  await edit(() => "changed");
  expect(await readFile(join(folder, "real"), "utf8")).toBe("changed");
  expect(
    (await readdir(folder, { withFileTypes: true })).find(({ name }) => name === "config")?.isSymbolicLink(),
  ).toBe(true);
});

test("leaves the file unchanged when nothing changes or the change fails", async () => {
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

test("waits for the lock, and names the lock file when it times out", async () => {
  await writeFile(`${file}.lock`, "");
  const now = { now: () => 0, sleep: async () => {} };
  const held = editKubeconfig(file, { clock: now, change: () => "x" });
  await expect(held).rejects.toThrow(`another process is changing it; if there is none, remove ${file}.lock`);
  expect(await readdir(folder)).toEqual(["config.lock"]);
  const released = { now: () => 0, sleep: () => rm(`${file}.lock`, { force: true }) };
  await editKubeconfig(file, { clock: released, change: () => "x" });
  expect(await readdir(folder)).toEqual(["config"]);
});

test("rejects a folder", async () => {
  await mkdir(file);
  await expect(edit(() => "x")).rejects.toThrow("it is not a file");
});

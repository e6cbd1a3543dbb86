import { chmodSync, mkdirSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { prepareHostPath } from "./local-directories.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const folder = temporaryDirectory();
const path = (name: string) => join(folder, name);
const socket = createServer();

beforeAll(async () => {
  mkdirSync(path("dir"));
  writeFileSync(path("file"), "");
  symlinkSync("dir", path("link-to-dir"));
  symlinkSync("nowhere", path("dangling"));
  await new Promise<void>((resolve) => socket.listen(path("socket"), resolve));
});
afterAll(() => socket.close());

test.each([
  ["dir", ""],
  ["missing", ""],
  ["dir", "Directory"],
  ["link-to-dir", "Directory"],
  ["dir", "DirectoryOrCreate"],
  ["file", "File"],
  ["file", "FileOrCreate"],
  ["socket", "Socket"],
  ["/dev/null", "CharDevice"],
])("accepts %s as %j", async (name, type) => {
  const absolute = name.startsWith("/") ? name : path(name);
  await expect(prepareHostPath({ path: absolute, type })).resolves.toBe(absolute);
});

test.each([
  ["file", "Directory", "directory", "File"],
  ["file", "DirectoryOrCreate", "directory", "File"],
  ["dir", "File", "file", "Directory"],
  ["dir", "FileOrCreate", "file", "Directory"],
  ["file", "Socket", "socket file", "File"],
  ["socket", "CharDevice", "character device", "Socket"],
  ["dir", "BlockDevice", "block device", "Directory"],
])("%s is not a %s", async (name, type, wanted, found) => {
  await expect(prepareHostPath({ path: path(name), type })).rejects.toThrow(
    `hostPath type check failed: ${path(name)} is not a ${wanted}, it's a ${found}`,
  );
});

test.each(["Directory", "File", "Socket", "CharDevice", "BlockDevice"])(
  "nothing is not a %s",
  async (type) => {
    await expect(prepareHostPath({ path: path("missing"), type })).rejects.toThrow(
      `unable to determine its type: path "${path("missing")}" does not exist`,
    );
  },
);

test("creates missing paths if the type allows it", async () => {
  await prepareHostPath({ path: path("new/deep"), type: "DirectoryOrCreate" });
  expect(statSync(path("new/deep")).mode & 0o7777).toBe(0o755);
  await prepareHostPath({ path: path("new/file"), type: "FileOrCreate" });
  expect(statSync(path("new/file")).isFile()).toBe(true);
  chmodSync(path("new/file"), 0o600);
  await prepareHostPath({ path: path("new/file"), type: "FileOrCreate" });
  expect(statSync(path("new/file")).mode & 0o7777).toBe(0o600);
});

test("does not create a file through a dangling link", async () => {
  await expect(prepareHostPath({ path: path("dangling"), type: "FileOrCreate" })).rejects.toThrow("ELOOP");
});

test("rejects invalid paths and types", async () => {
  await expect(prepareHostPath({ path: "/a/../b" })).rejects.toThrow(
    "invalid HostPath `/a/../b`: must not contain '..'",
  );
  await expect(prepareHostPath({ path: "/a", type: "Pipe" })).rejects.toThrow(
    "Pipe is an invalid volume type",
  );
  await expect(prepareHostPath({ path: "/a", type: "SocketOrCreate" })).rejects.toThrow(
    "SocketOrCreate is an invalid volume type",
  );
});

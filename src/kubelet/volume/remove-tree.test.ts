import { Buffer } from "node:buffer";
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test } from "vitest";
import { entryPath, openDirectory } from "./held-directory.ts";
import { removeTree } from "./remove-tree.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const folder = temporaryDirectory();
const precious = join(folder, "precious");
mkdirSync(precious);
writeFileSync(join(precious, "data"), "keep");

test("removes what is there and follows no link", async () => {
  const directory = join(folder, "volume");
  mkdirSync(join(directory, "a/b"), { recursive: true });
  writeFileSync(join(directory, "a/b/file"), "");
  symlinkSync(precious, join(directory, "a/link"));
  symlinkSync(".", join(directory, "a/loop"));
  // Not UTF-8: a container may use any bytes.
  writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xff, 0xfe])]), "");
  mkdirSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xc0])]));
  writeFileSync(Buffer.concat([Buffer.from(`${directory}/`), Buffer.from([0xc0]), Buffer.from("/x")]), "");
  await removeTree(directory);
  expect(existsSync(directory)).toBe(false);
  expect(readFileSync(join(precious, "data"), "utf8")).toBe("keep");
});

test("a link in the place of the directory is removed, not what it points to", async () => {
  symlinkSync(precious, join(folder, "planted"));
  await removeTree(join(folder, "planted"));
  expect(readdirSync(folder)).not.toContain("planted");
  expect(readdirSync(precious)).toEqual(["data"]);
});

test("nothing there is nothing to do", async () => {
  await removeTree(join(folder, "none"));
});

test("directories nested deeper than any path can name", async () => {
  const directory = join(folder, "deep");
  mkdirSync(directory);
  // From one open directory to the next: no single path is that long.
  let current = await openDirectory(directory);
  for (let level = 0; level < 1_500; level++) {
    await mkdir(entryPath(current, "dd"));
    const next = await openDirectory(entryPath(current, "dd"));
    await current.close();
    current = next;
  }
  await writeFile(entryPath(current, "file"), "");
  await current.close();
  await removeTree(directory);
  expect(existsSync(directory)).toBe(false);
});

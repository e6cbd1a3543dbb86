import { mkdtemp, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { createMessageFile, writeHosts } from "./container-files.ts";

let root: string;

beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "files-"));
});

afterEach(() => rm(root, { recursive: true, force: true }));

const mode = async (path: string) => (await stat(path)).mode & 0o777;

describe("writeHosts", () => {
  test("creates the pod's directory and the file", async () => {
    const path = await writeHosts(join(root, "pods/u-1"), "one\n");
    expect(path).toBe(join(root, "pods/u-1/etc-hosts"));
    expect(await readFile(path, "utf8")).toBe("one\n");
    expect(await mode(path)).toBe(0o644);
    expect(await mode(dirname(path))).toBe(0o750);
  });

  test("rewrites the same file with longer and shorter content", async () => {
    const path = await writeHosts(root, "one\n");
    const { ino } = await stat(path);
    for (const content of ["one\ntwo\n", "1\n"]) {
      await writeHosts(root, content);
      expect(await readFile(path, "utf8")).toBe(content);
      expect((await stat(path)).ino).toBe(ino);
    }
  });

  test("does not rewrite files with the right content", async () => {
    const path = await writeHosts(root, "one\n");
    const before = await stat(path, { bigint: true });
    await writeHosts(root, "one\n");
    expect((await stat(path, { bigint: true })).mtimeNs).toBe(before.mtimeNs);
  });

  test("does not follow links", async () => {
    const target = join(root, "target");
    await writeFile(target, "kept");
    await symlink(target, join(root, "etc-hosts"));
    await expect(writeHosts(root, "one\n")).rejects.toThrow();
    expect(await readFile(target, "utf8")).toBe("kept");
  });
});

test("creates a new termination log that every user may write", async () => {
  const directory = join(root, "containers/c");
  const [first, second] = [await createMessageFile(directory), await createMessageFile(directory)];
  expect(first).not.toBe(second);
  expect(await mode(first)).toBe(0o666);
  expect((await stat(first)).size).toBe(0);
  expect(await mode(directory)).toBe(0o750);
});

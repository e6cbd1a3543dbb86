import { mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { removeTemporaryFiles, writeFileAtomic, writeFileDurably } from "./write-file-atomic.ts";

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-write-"));
  file = join(folder, "record.json");
});
afterEach(() => rm(folder, { recursive: true, force: true }));

describe("writeFileAtomic", () => {
  test("replaces the file and leaves no temporary file", async () => {
    await writeFileAtomic(file, "old");
    await writeFileAtomic(file, "new");
    expect(await readFile(file, "utf8")).toBe("new");
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    expect(await readdir(folder)).toEqual(["record.json"]);
  });

  test("overwrites a given temporary file that a crash left", async () => {
    const temporary = `${file}.new`;
    await writeFile(temporary, "a longer text that was not complete");
    await writeFileAtomic(file, "new", { temporary });
    expect(await readFile(file, "utf8")).toBe("new");
    expect(await readdir(folder)).toEqual(["record.json"]);
  });

  test("removes the temporary file when the file cannot be replaced", async () => {
    await expect(writeFileAtomic(folder, "new")).rejects.toThrow();
    expect(await readdir(folder)).toEqual([]);
  });
});

describe("writeFileDurably", () => {
  test("replaces the file with the given mode and owner", async () => {
    await writeFileDurably(file, "old", { mode: 0o600, existing: "replace" });
    const owner = await stat(file);
    await writeFileDurably(file, "new", { mode: 0o400, owner, existing: "replace" });
    expect(await readFile(file, "utf8")).toBe("new");
    expect(await stat(file)).toMatchObject({ uid: owner.uid, gid: owner.gid });
    expect((await stat(file)).mode & 0o777).toBe(0o400);
    expect(await readdir(folder)).toEqual(["record.json"]);
  });

  test("keeps an existing file and reports it", async () => {
    await writeFileDurably(file, "old", { mode: 0o600, existing: "keep" });
    const again = writeFileDurably(file, "new", { mode: 0o600, existing: "keep" });
    await expect(again).rejects.toMatchObject({ code: "EEXIST" });
    expect(await readFile(file, "utf8")).toBe("old");
    expect(await readdir(folder)).toEqual(["record.json"]);
  });
});

test("removeTemporaryFiles removes what killed writers left, and nothing else", async () => {
  const left = ["kubeconfig.0123456789ab.tmp", "up.json.4711-3.tmp"];
  const kept = ["kubeconfig", "notes.tmp", "a.b.tmp"];
  for (const name of [...left, ...kept]) await writeFile(join(folder, name), "");
  await removeTemporaryFiles(folder);
  expect((await readdir(folder)).sort()).toEqual([...kept].sort());
});

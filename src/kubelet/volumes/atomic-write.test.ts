import { Buffer } from "node:buffer";
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { hasContent, writeAtomically, writeSteps } from "./atomic-write.ts";
import type { Payload } from "./payload.ts";
import { temporaryDirectory } from "./temporary-directory.fixture.ts";

const folder = temporaryDirectory();
const now = Date.UTC(2031, 4, 9, 12, 30, 0);
let count = 0;

function newDirectory(): string {
  const directory = join(folder, `v${count++}`);
  mkdirSync(directory);
  return directory;
}

function payload(files: Record<string, string>, mode = 0o644): Payload {
  return new Map(Object.entries(files).map(([path, text]) => [path, { data: Buffer.from(text), mode }]));
}

/** Returns the files that a container sees, without the internal names of the writer. */
function visible(directory: string, below = ""): Record<string, string> {
  const files: Record<string, string> = {};
  for (const name of readdirSync(join(directory, below))) {
    if (below === "" && name.startsWith("..")) continue;
    const path = join(below, name);
    if (statSync(join(directory, path)).isDirectory()) Object.assign(files, visible(directory, path));
    else files[path] = readFileSync(join(directory, path), "utf8");
  }
  return files;
}

const own = (directory: string) => readdirSync(directory).filter((name) => name.startsWith(".."));

test("links files to one version", async () => {
  const directory = newDirectory();
  expect(await writeAtomically(directory, payload({ a: "1", "d/b": "2" }, 0o400), { now })).toBe(true);
  expect(visible(directory)).toEqual({ a: "1", "d/b": "2" });
  expect(readlinkSync(join(directory, "a"))).toBe("..data/a");
  expect(readlinkSync(join(directory, "d"))).toBe("..data/d");
  expect(readlinkSync(join(directory, "..data"))).toMatch(/^\.\.2031_05_09_12_30_00\.\w+$/);
  expect(statSync(join(directory, "a")).mode & 0o7777).toBe(0o400);
  expect(statSync(join(directory, "..data/")).mode & 0o7777).toBe(0o755);
  expect(statSync(join(directory, "d/")).mode & 0o7777).toBe(0o755);
});

test("does not write equal content again", async () => {
  const directory = newDirectory();
  await writeAtomically(directory, payload({ a: "1", "d/b": "2" }), { now });
  const version = readlinkSync(join(directory, "..data"));
  const { ctimeMs } = lstatSync(directory);
  expect(await writeAtomically(directory, payload({ "d/b": "2", a: "1" }), { now })).toBe(false);
  expect(readlinkSync(join(directory, "..data"))).toBe(version);
  expect(lstatSync(directory).ctimeMs).toBe(ctimeMs);
});

test.each([
  ["a change", { a: "1", b: "3" }],
  ["an added file", { a: "1", b: "2", c: "3" }],
  ["a removed file", { a: "1" }],
  ["a file that becomes a directory", { "a/x": "1", b: "2" }],
  ["an empty payload", {}],
])("%s leaves only the new version", async (_name, next) => {
  const directory = newDirectory();
  await writeAtomically(directory, payload({ a: "1", b: "2" }), { now });
  expect(await writeAtomically(directory, payload(next), { now })).toBe(true);
  expect(visible(directory)).toEqual(next);
  expect(own(directory)).toHaveLength(2);
});

test("a crash leaves the old or the new version, and the next write repairs it", async () => {
  const before = { a: "old", gone: "old", "d/x": "old" };
  const after = { a: "new", come: "new", "d/x": "new" };
  for (const stop of writeSteps) {
    const directory = newDirectory();
    await writeAtomically(directory, payload(before), { now });
    const afterStep = (step: string) => {
      if (step === stop) throw new Error("killed");
    };
    await expect(writeAtomically(directory, payload(after), { now, afterStep })).rejects.toThrow("killed");

    // Links may be missing or dangling, but all readable files belong to one version.
    const data = Object.values(visible(join(directory, "..data"), ".")).join();
    expect(["old,old,old", "new,new,new"], stop).toContain(data);

    expect(await hasContent(directory)).toBe(true);
    await writeAtomically(directory, payload(after), { now });
    expect(visible(directory), stop).toEqual(after);
    expect(own(directory), stop).toHaveLength(2);
  }
});

test("a crash during the first write leaves no content", async () => {
  for (const stop of ["created", "written", "linked"]) {
    const directory = newDirectory();
    const afterStep = (step: string) => {
      if (step === stop) throw new Error("killed");
    };
    await expect(writeAtomically(directory, payload({ a: "1" }), { now, afterStep })).rejects.toThrow(
      "killed",
    );
    expect(await hasContent(directory), stop).toBe(false);
    await writeAtomically(directory, payload({ a: "1" }), { now });
    expect(visible(directory), stop).toEqual({ a: "1" });
    expect(own(directory), stop).toHaveLength(2);
  }
});

test("writes damaged content again", async () => {
  const directory = newDirectory();
  await writeAtomically(directory, payload({ a: "1" }), { now });
  writeFileSync(join(directory, "a"), "");
  expect(await writeAtomically(directory, payload({ a: "1" }), { now })).toBe(true);
  expect(visible(directory)).toEqual({ a: "1" });
});

test("sets permissions before the version is visible", async () => {
  const directory = newDirectory();
  let seen: boolean | undefined;
  const setPermissions = async () => {
    seen = existsSync(join(directory, "..data"));
  };
  await writeAtomically(directory, payload({ a: "1" }), { now, setPermissions });
  expect(seen).toBe(false);
});

test("keeps a mount point in the volume", async () => {
  const directory = newDirectory();
  mkdirSync(join(directory, "nested"));
  await writeAtomically(directory, payload({ a: "1" }), { now });
  await writeAtomically(directory, payload({ b: "1" }), { now });
  expect(readdirSync(directory).filter((name) => !name.startsWith(".."))).toEqual(["b", "nested"]);
});

test("an invalid path changes nothing", async () => {
  const directory = newDirectory();
  await writeAtomically(directory, payload({ a: "1" }), { now });
  await expect(writeAtomically(directory, payload({ a: "2", "../x": "2" }), { now })).rejects.toThrow(
    "invalid path",
  );
  expect(visible(directory)).toEqual({ a: "1" });
});

import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { checkVersion, decideVersion, type FoundVersion } from "./check-version.ts";

test.each<[FoundVersion, ReturnType<typeof decideVersion>["kind"]]>([
  [{ kind: "none" }, "mark"],
  [{ kind: "unmarked" }, "mark"],
  [{ kind: "broken" }, "reject"],
  [{ kind: "marked", format: 2, writtenBy: "an older one" }, "mark"],
  [{ kind: "marked", format: 3, writtenBy: "this one" }, "keep"],
  [{ kind: "marked", format: 4, writtenBy: "a newer one" }, "reject"],
])("%j: %s", (found, kind) => {
  expect(decideVersion(found, 3).kind).toBe(kind);
});

let dataDir: string;
beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "kindling-version-"));
});
afterEach(() => rm(dataDir, { recursive: true }));

const mark = () => readFile(join(dataDir, "version.json"), "utf8");

test("writes the version of a new directory once", async () => {
  await checkVersion(dataDir);
  const first = await mark();
  expect(JSON.parse(first)).toMatchObject({ format: 1 });
  await checkVersion(dataDir);
  expect(await mark()).toBe(first);
});

test("accepts a directory without a version", async () => {
  await mkdir(join(dataDir, "pki"));
  await writeFile(join(dataDir, "pki", "ca.key"), "");
  await checkVersion(dataDir);
  expect(JSON.parse(await mark())).toMatchObject({ format: 1 });
});

test.each([
  ['{"format":1000,"writtenBy":"v9"}', /of a newer Kindling \(v9\)/],
  ["", /version.json cannot be read/],
  ["null", /version.json cannot be read/],
  ['{"format":"1"}', /version.json cannot be read/],
])("rejects %j and leaves it unchanged", async (text, says) => {
  await writeFile(join(dataDir, "version.json"), text);
  await expect(checkVersion(dataDir)).rejects.toThrow(says);
  expect(await mark()).toBe(text);
});

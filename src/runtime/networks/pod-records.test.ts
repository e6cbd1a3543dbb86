import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { createPodRecords } from "./pod-records.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "kindling-records-"));
});
afterEach(() => rm(directory, { recursive: true }));

const parse = (value: unknown) => (typeof value === "number" ? value : undefined);

test("writes, replaces, lists and removes records", async () => {
  const records = createPodRecords(join(directory, "new"), parse);
  expect(await records.ids()).toEqual([]);
  await records.write("a.json", 1);
  await records.write("a.json", 2);
  await records.write("b", 3);
  expect(await records.read("a.json")).toBe(2);
  expect([...(await records.ids())].sort()).toEqual(["a.json", "b"]);
  await records.remove("a.json");
  await records.remove("a.json");
  expect(await records.read("a.json")).toBeUndefined();
  expect(await records.ids()).toEqual(["b"]);
});

test("lists and removes records that are unreadable or partly written", async () => {
  const records = createPodRecords(directory, parse);
  await writeFile(join(directory, "torn.json"), "{");
  await writeFile(join(directory, "foreign.json"), '"text"');
  await writeFile(join(directory, "half.json.new"), "12");
  expect([...(await records.ids())].sort()).toEqual(["foreign", "half", "torn"]);
  for (const id of await records.ids()) {
    expect(await records.read(id)).toBeUndefined();
    await records.remove(id);
  }
  expect(await readdir(directory)).toEqual([]);
});

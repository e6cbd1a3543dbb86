import { existsSync } from "node:fs";
import { expect, test } from "vitest";
import { runsSlowTests } from "../fuzz/rounds.ts";
import { leftOutFiles, slowFiles } from "./slow-files.ts";

test.each(Object.entries(slowFiles))("%s is covered in every run by %s", (slow, always) => {
  expect(existsSync(slow)).toBe(true);
  expect(existsSync(always)).toBe(true);
  expect(slowFiles).not.toHaveProperty([always]);
});

test("a run that selects files leaves out none", () => {
  expect(leftOutFiles(["run", "test/kubelet"])).toEqual([]);
  expect(leftOutFiles(["related", "--run", "test/support/programs/tools.ts"])).toEqual([]);
});

test.skipIf(runsSlowTests)("a run of all tests leaves out the slow files [not where slow tests run]", () => {
  expect(leftOutFiles(["run", "--reporter=json"])).toEqual(Object.keys(slowFiles));
});

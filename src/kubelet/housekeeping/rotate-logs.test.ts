import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { CriClient } from "../../cri/cri-client.ts";
import type { ContainerState, ObservedContainer } from "../observed-pod.ts";
import { planRotation, rotateLog } from "./rotate-logs.ts";

test.each([
  { why: "nothing before", rotated: [], maxFiles: 5, remove: [], compress: [] },
  { why: "the last one is packed", rotated: ["a"], maxFiles: 5, remove: [], compress: ["a"] },
  { why: "packed ones stay so", rotated: ["a.gz", "b"], maxFiles: 5, remove: [], compress: ["b"] },
  {
    why: "the oldest go, to make room for two",
    rotated: ["a.gz", "b.gz", "c.gz", "d"],
    maxFiles: 5,
    remove: ["a.gz"],
    compress: ["d"],
  },
  {
    why: "the fewest that are allowed",
    rotated: ["a.gz", "b"],
    maxFiles: 2,
    remove: ["a.gz", "b"],
    compress: [],
  },
])("$why", ({ rotated, maxFiles, remove, compress }) => {
  expect(planRotation(rotated, maxFiles)).toEqual({ remove, compress });
});

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "kindling-logs-"));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const now = Date.parse("2026-01-02T03:04:05Z");

function rotate(options: { state?: ContainerState; reopen?: () => Promise<object>; maxFiles?: number } = {}) {
  const { reopen = async () => ({}), maxFiles = 3 } = options;
  const { state = { kind: "running", startedAtMs: 0 } } = options;
  const cri = { runtime: { reopenContainerLog: reopen } } as unknown as CriClient;
  const container = { id: "c", logPath: join(folder, "0.log"), state } as ObservedContainer;
  return rotateLog({ cri, maxBytes: 10, maxFiles, now }, container);
}

test("a log that is too large is put aside, the one before it packed, the oldest removed", async () => {
  await writeFile(join(folder, "0.log"), "more than ten bytes");
  await writeFile(join(folder, "0.log.20260101-000000.gz"), "oldest");
  await writeFile(join(folder, "0.log.20260102-000000"), "before");
  await writeFile(join(folder, "0.log.20260102-000000.gz.tmp"), "half packed by a kubelet that was killed");
  await writeFile(join(folder, "1.log"), "another attempt's");
  await rotate({ reopen: () => writeFile(join(folder, "0.log"), "").then(() => ({})) });
  expect((await readdir(folder)).sort()).toEqual([
    "0.log",
    "0.log.20260102-000000.gz",
    "0.log.20260102-030405",
    "1.log",
  ]);
  expect(gunzipSync(await readFile(join(folder, "0.log.20260102-000000.gz"))).toString()).toBe("before");
  expect(await readFile(join(folder, "0.log.20260102-030405"), "utf8")).toBe("more than ten bytes");
});

test("when the runtime does not begin a new one, all is as before", async () => {
  await writeFile(join(folder, "0.log"), "more than ten bytes");
  const refused = rotate({ reopen: () => Promise.reject(new Error("no")) });
  await expect(refused).rejects.toThrow("no");
  expect(await readdir(folder)).toEqual(["0.log"]);
});

test.each<[string, string | undefined, ContainerState | undefined]>([
  ["a small log", "small", undefined],
  ["no log at all", undefined, undefined],
  [
    "the log of a container that has ended",
    "more than ten bytes",
    { kind: "exited", startedAtMs: 0, finishedAtMs: 0, exitCode: 0, reason: "", message: "" },
  ],
])("%s is left alone", async (_, content, state) => {
  if (content !== undefined) await writeFile(join(folder, "0.log"), content);
  const reopen = () => Promise.reject(new Error("nobody asks for that"));
  await rotate({ reopen, ...(state && { state }) });
  expect(await readdir(folder)).toEqual(content === undefined ? [] : ["0.log"]);
});

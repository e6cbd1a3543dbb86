import { expect, test } from "vitest";
import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { comparableWorkloads, compareRevisions, describeChange } from "./compare-revisions.ts";

let created = 0;
const start = (owner: string, revision: string, seconds: number, stages = {}): FinishedView => {
  created += 10;
  return {
    uid: `${created}`,
    namespace: "shop",
    name: "p",
    node: undefined,
    owner,
    revision,
    runtimeClass: "",
    storageClasses: [],
    createdMs: created,
    readyMs: created + seconds * 1_000,
    stages,
    userError: undefined,
  };
};
const starts = [
  start("StatefulSet/db", "r1", 4, { scheduling: 1, init: 3 }),
  start("StatefulSet/db", "r2", 8, { scheduling: 1, containers: 7 }),
  start("StatefulSet/db", "r2", 10, { scheduling: 3, containers: 7 }),
  start("Deployment/web", "5d8f", 1),
  start("Deployment/web", "77aa", 1),
  start("DaemonSet/alone", "r1", 1),
  start("Pod/bare", "", 1),
];

test("workloads with two revisions, the newest revision first", () => {
  expect(comparableWorkloads(starts)).toEqual([
    { key: "shop/Deployment/web", revisions: ["77aa", "5d8f"] },
    { key: "shop/StatefulSet/db", revisions: ["r2", "r1"] },
  ]);
});

test("compares all stages, including those of one revision only", () => {
  const compared = compareRevisions(starts, { workload: "shop/StatefulSet/db", before: "r1", after: "r2" });
  expect(compared.map(({ stage, before, after }) => [stage, before.p50, after.p50])).toEqual([
    ["total", 4_000, 9_000],
    ["scheduling", 1_000, 2_000],
    ["init", 3_000, undefined],
    ["containers", undefined, 7_000],
  ]);
});

test.each([
  [1_000, 1_400, "+40 %"],
  [1_000, 500, "−50 %"],
  [1_000, 1_001, "same"],
  [undefined, 5, undefined],
  [0, 5, undefined],
])("from %d to %d: %s", (before, after, text) => {
  expect(describeChange(before, after)).toBe(text);
});

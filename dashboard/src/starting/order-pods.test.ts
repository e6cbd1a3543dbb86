import { expect, test } from "vitest";
import type { PodView } from "../../../src/monitor/feed/feed-message.ts";
import { filterPods, tallyStages } from "./order-pods.ts";

const pod = (name: string, createdMs: number, stage: PodView["stage"], isTransient = true) =>
  ({ uid: name, namespace: "shop", name, createdMs, stage, isTransient }) as PodView;
const pods = [
  pod("young", 30, "pulling"),
  pod("old", 10, "pulling"),
  pod("stuck", 20, "creating", false),
  pod("twin", 10, "scheduling"),
];
const names = (list: readonly PodView[]) => list.map(({ name }) => name).join(" ");

test.each([
  { name: "stuck first, then the oldest", filter: "", stage: "all", shown: "stuck old twin young" },
  { name: "by name", filter: "shop/o", stage: "all", shown: "old" },
  { name: "by stage", filter: "", stage: "pulling", shown: "old young" },
  { name: "stuck pods", filter: "", stage: "stuck", shown: "stuck" },
] as const)("$name", ({ filter, stage, shown }) => {
  expect(names(filterPods(pods, { filter, stage }))).toBe(shown);
});

test("counts pods in the order of the stages", () => {
  expect(tallyStages(pods)).toEqual([
    { stage: "all", count: 4 },
    { stage: "stuck", count: 1 },
    { stage: "scheduling", count: 1 },
    { stage: "pulling", count: 2 },
    { stage: "creating", count: 1 },
  ]);
  expect(tallyStages([])).toEqual([]);
});

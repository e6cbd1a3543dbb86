import { expect, test } from "vitest";
import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { type ClassName, groupStarts, slowestStage } from "./group-starts.ts";

const start = (more: Partial<FinishedView>): FinishedView => ({
  uid: "u",
  namespace: "shop",
  name: "web-0",
  node: "node-1",
  owner: "StatefulSet/web",
  revision: "a",
  runtimeClass: "",
  storageClasses: [],
  createdMs: 0,
  readyMs: 1_000,
  stages: {},
  userError: undefined,
  ...more,
});

test.each<{ by: ClassName; of: Partial<FinishedView>; names: string[] }>([
  { by: "namespace", of: {}, names: ["shop"] },
  { by: "owner", of: {}, names: ["shop/StatefulSet/web"] },
  { by: "runtimeClass", of: {}, names: ["(default)"] },
  { by: "runtimeClass", of: { runtimeClass: "gvisor" }, names: ["gvisor"] },
  { by: "storageClass", of: {}, names: ["(no claims)"] },
  { by: "storageClass", of: { storageClasses: ["fast", "slow"] }, names: ["fast", "slow"] },
  { by: "node", of: { node: undefined }, names: ["(unknown)"] },
])("by $by: $names", ({ by, of, names }) => {
  expect(groupStarts([start(of)], by).map(({ name }) => name)).toEqual(names);
});

test("the slowest group first, with the stage that takes longest in it", () => {
  const groups = groupStarts(
    [
      start({ namespace: "fast" }),
      start({ namespace: "slow", readyMs: 9_000, stages: { scheduling: 1, containers: 7, readiness: 1 } }),
      // Only one of them has it, and yet it is not where their time went.
      start({ namespace: "slow", readyMs: 5_000, stages: { scheduling: 0, init: 5, containers: 0 } }),
    ],
    "namespace",
  );
  expect(groups.map(({ name, count, p50 }) => ({ name, count, p50 }))).toEqual([
    { name: "slow", count: 2, p50: 7_000 },
    { name: "fast", count: 1, p50: 1_000 },
  ]);
  expect(groups[0]?.stages).toEqual({ scheduling: 500, init: 5_000, containers: 3_500, readiness: 1_000 });
  expect(groups[0]?.slowest).toBe("containers");
  expect(groups[1]?.slowest).toBeUndefined();
});

test("finds the slowest stage of a start and ignores unknown stages", () => {
  expect(slowestStage(start({ stages: { sandbox: 3, init: 2, constructor: 99 } }))).toBe("sandbox");
  expect(slowestStage(start({}))).toBeUndefined();
});

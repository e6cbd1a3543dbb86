import { expect, test } from "vitest";
import type { Pod, PodDisruptionBudget } from "../../api/meta/objects.ts";
import { ago, now, type PodParts, podOf } from "../shared/workload.fixture.ts";
import { decideDisruption, decideStaleTarget, type Scale } from "./decide-disruption.ts";

type Status = NonNullable<PodDisruptionBudget["status"]>;

const budget = (spec: PodDisruptionBudget["spec"], status?: Partial<Status>): PodDisruptionBudget => ({
  apiVersion: "policy/v1",
  kind: "PodDisruptionBudget",
  metadata: { name: "web", namespace: "default", generation: 2 },
  spec,
  ...(status && {
    status: { currentHealthy: 0, desiredHealthy: 0, expectedPods: 0, disruptionsAllowed: 0, ...status },
  }),
});
const ready = (count: number) =>
  Array.from({ length: count }, (_, i) => podOf({ name: `p${i}`, readyFor: 60 }));
const of = (replicas: number) => (): Scale => ({ uid: "owner", replicas });
const decide = (of: PodDisruptionBudget, pods: readonly Pod[], scaleOf: () => Scale | "none" | undefined) =>
  decideDisruption({ budget: of, pods, scaleOf, now });

test.each([
  ["minAvailable 2 of 3", { minAvailable: 2 }, 3, 3, { desiredHealthy: 2, disruptionsAllowed: 1 }],
  ["minAvailable 3 of 3", { minAvailable: 3 }, 3, 3, { desiredHealthy: 3, disruptionsAllowed: 0 }],
  [
    "minAvailable 50% of 5, rounded up",
    { minAvailable: "50%" },
    5,
    5,
    { desiredHealthy: 3, disruptionsAllowed: 2 },
  ],
  ["maxUnavailable 1 of 5", { maxUnavailable: 1 }, 5, 5, { desiredHealthy: 4, disruptionsAllowed: 1 }],
  [
    "maxUnavailable a third of 10, rounded up",
    { maxUnavailable: "33%" },
    10,
    10,
    { desiredHealthy: 6, disruptionsAllowed: 4 },
  ],
  [
    "maxUnavailable above the number of pods",
    { maxUnavailable: 9 },
    2,
    2,
    { desiredHealthy: 0, disruptionsAllowed: 2 },
  ],
  [
    "pods that are not created yet",
    { maxUnavailable: 1 },
    2,
    4,
    { expectedPods: 4, desiredHealthy: 3, disruptionsAllowed: 0 },
  ],
  ["no pods", { minAvailable: 0 }, 0, 0, { expectedPods: 0, disruptionsAllowed: 0 }],
])("%s", (_, spec, pods, replicas, expected) => {
  expect(decide(budget(spec), ready(pods), of(replicas)).status).toMatchObject(expected);
});

test("counts only ready pods that are not being deleted as healthy", () => {
  const pods = [...ready(2), podOf({ name: "waits" }), podOf({ name: "goes", readyFor: 9, deleting: true })];
  const { status } = decide(budget({ minAvailable: 1 }), pods, of(4));
  expect(status).toMatchObject({ expectedPods: 4, currentHealthy: 2, disruptionsAllowed: 1 });
});

test("sets DisruptionAllowed and its transition time", () => {
  const enough = decide(budget({ minAvailable: 1 }), ready(2), of(2)).status;
  expect(enough?.observedGeneration).toBe(2);
  const condition = {
    type: "DisruptionAllowed",
    observedGeneration: 2,
    message: "",
    lastTransitionTime: ago(0),
  };
  expect(enough?.conditions).toEqual([{ ...condition, status: "True", reason: "SufficientPods" }]);
  const less = decide({ ...budget({ minAvailable: 1 }), status: enough }, ready(1), of(2)).status;
  expect(less?.conditions).toEqual([{ ...condition, status: "False", reason: "InsufficientPods" }]);
});

test("does not write an unchanged status", () => {
  const first = decide(budget({ minAvailable: 1 }), ready(2), of(2));
  const again = { ...budget({ minAvailable: 1 }), status: first.status };
  expect(decideDisruption({ budget: again, pods: ready(2), scaleOf: of(2), now: now + 60_000 })).toEqual({
    notDeleted: [],
    unmanaged: false,
  });
});

test("does not count a pod with a granted eviction until the deletion times out", () => {
  const pods = ready(3);
  const evicted = budget({ minAvailable: 1 }, { disruptedPods: { p0: ago(20), p1: ago(121), gone: ago(1) } });
  const { status, notDeleted, requeueAfterMs } = decide(evicted, pods, of(3));
  expect(status).toMatchObject({ currentHealthy: 2, disruptionsAllowed: 1, disruptedPods: { p0: ago(20) } });
  expect(Object.keys(status?.disruptedPods ?? {})).toEqual(["p0"]);
  expect(notDeleted.map(({ metadata }) => metadata.name)).toEqual(["p1"]);
  expect(requeueAfterMs).toBe(100_000);
});

test("allows no disruptions while the expected count is unknown", () => {
  const before = budget({ maxUnavailable: 1 }, { currentHealthy: 3, disruptionsAllowed: 1 });
  const { status, failure } = decide(before, ready(1), () => undefined);
  expect(failure).toBe('found no controllers for pod "p0"');
  expect(status).toMatchObject({ currentHealthy: 3, disruptionsAllowed: 0 });
  expect(status?.conditions).toMatchObject([{ status: "False", reason: "SyncFailed", message: failure }]);
});

test("ignores pods without a controller when it computes a percentage", () => {
  expect(decide(budget({ maxUnavailable: "50%" }), ready(2), () => "none")).toMatchObject({
    unmanaged: true,
    status: { expectedPods: 0, disruptionsAllowed: 0 },
  });
  expect(decide(budget({ minAvailable: 1 }), ready(2), () => "none")).toMatchObject({
    unmanaged: false,
    status: { disruptionsAllowed: 1 },
  });
});

const target = (seconds: number, reason = "EvictionByEvictionAPI", status = "True") => ({
  status: {
    conditions: [{ type: "DisruptionTarget", status, reason, lastTransitionTime: ago(seconds) }],
  },
});

test.each<[string, PodParts, string]>([
  ["none", {}, "none"],
  ["fresh", target(30), "wait"],
  ["stale", target(121), "clear"],
  ["of the kubelet", target(900, "TerminationByKubelet"), "none"],
  ["cleared already", target(900, "x", "False"), "none"],
  ["being deleted", { ...target(900), deleting: true }, "none"],
  ["ended", { ...target(900), status: { ...target(900).status, phase: "Failed" } }, "none"],
])("%s", (_, parts, kind) => {
  expect(decideStaleTarget(podOf(parts), now).kind).toBe(kind);
});

test("waits for exactly the remaining time", () => {
  expect(decideStaleTarget(podOf(target(30)), now)).toEqual({ kind: "wait", requeueAfterMs: 90_000 });
});

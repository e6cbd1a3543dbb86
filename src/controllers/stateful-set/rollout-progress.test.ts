import { describe, expect, test } from "vitest";
import { decideStatefulSet } from "./decide-stateful-set.ts";
import { withProgressRecord } from "./rollout-progress.ts";
import {
  enforced,
  makeFacts,
  makePod,
  makeSet,
  now,
  parallel,
  type SetOptions,
} from "./stateful-set.fixture.ts";
import type { ProgressRecord } from "./stateful-set-facts.ts";

const deadlineMs = 600_000;

/** Decides at `at`, with the record of a decision about other pods at `from`. Times are milliseconds after `now`. */
function decideAfter(
  options: SetOptions,
  {
    from = 0,
    first,
    at,
    pods,
  }: { from?: number; first: readonly string[]; at: number; pods: readonly string[] },
) {
  const set = makeSet(options);
  const { progress } = decideStatefulSet({ ...makeFacts(set, first), now: now + from });
  const next = withProgressRecord(set, progress) ?? set;
  return decideStatefulSet({ ...makeFacts(next, pods), now: now + at });
}

function summary({ status }: ReturnType<typeof decideStatefulSet>): string[] {
  return (status.conditions ?? []).map(({ type, status, reason }) => `${type}=${status} ${reason}`);
}

const words = 'StatefulSet "web" has timed out progressing: no progress for 600 s; ';

describe("3541-12 a rollout without progress within its deadline", () => {
  test.each([
    [
      "a pod that never becomes ready",
      {},
      ["0 new ready", "1 new overdue"],
      "pod web-1: container c: ContainerCreating",
    ],
    ["a pod that fails", {}, ["0 new ready", "1 new failing"], "pod web-1: container c: ImagePullBackOff"],
    [
      "an old pod that RollingUpdate does not replace",
      {},
      ["0 old ready", "1 old ready", "2 old permanent"],
      "pod web-2: container c: InvalidImageName; it runs old instead of new, and RollingUpdate does not replace it: delete the pod, or use EnforcedRollingUpdate",
    ],
    [
      "a pod that stays terminating",
      {},
      ["0 new ready", "1 new ready", "2 new terminating"],
      "pod web-2: is being deleted",
    ],
    ["a pod that cannot be created", {}, ["0 new ready", "1 new ready"], "pod web-2 is not created"],
    [
      "a surplus pod that is not deleted",
      { replicas: 1 },
      ["0 new ready", "1 new terminating"],
      "pod web-1: is being deleted",
    ],
    [
      "an updated pod under EnforcedRollingUpdate",
      enforced,
      ["0 old ready", "1 old ready", "2 new failing"],
      "pod web-2: container c: ImagePullBackOff",
    ],
    [
      "old pods that Recreate deletes",
      { type: "Recreate" },
      ["0 new ready", "1 old terminating", "2 new ready"],
      "pod web-1: is being deleted",
    ],
  ] as const)("names %s", (_, options, pods, message) => {
    expect(summary(decideAfter(options, { first: pods, at: deadlineMs - 1, pods }))[0]).not.toContain(
      "Deadline",
    );
    const plan = decideAfter(options, { first: pods, at: deadlineMs, pods });
    expect(summary(plan)).toEqual([
      "Progressing=False ProgressDeadlineExceeded",
      "RolloutComplete=False ProgressDeadlineExceeded",
    ]);
    expect(plan.status.conditions?.[0]?.message).toBe(words + message);
    expect(plan.requeueAfterMs).toBeUndefined();
  });

  test("exceeds the deadline of the annotation", () => {
    const options = { annotations: { "kindling.dev/progress-deadline-seconds": "7" } };
    const pods = ["0 new failing"];
    expect(decideAfter(options, { first: pods, at: 6_999, pods }).requeueAfterMs).toBe(1);
    const [condition] = decideAfter(options, { first: pods, at: 7_000, pods }).status.conditions ?? [];
    expect(condition).toMatchObject({ reason: "ProgressDeadlineExceeded" });
    expect(condition?.message).toContain("no progress for 7 s; pod web-0");
  });

  test("still acts, and is complete when the pods become available", () => {
    const first = ["0 old ready", "1 old ready", "2 third failing"];
    expect(decideAfter(enforced, { first, at: deadlineMs, pods: first }).phases.flat(2)).toMatchObject([
      { kind: "deletePod", why: "updated" },
    ]);
    const pods = ["0 new ready", "1 new ready", "2 new ready"];
    const plan = decideAfter(enforced, { first, at: deadlineMs, pods });
    expect(summary(plan)).toEqual([
      "Progressing=True RolloutComplete",
      "RolloutComplete=True RolloutComplete",
    ]);
    expect(plan.progress).toBeUndefined();
  });

  test.each([
    [{ type: "OnDelete" }, ["0 old ready", "1 old ready", "2 old ready"], "WaitingForDelete"],
    [{ partition: 3 }, ["0 old ready", "1 old ready", "2 old ready"], "RolloutComplete"],
  ] as const)("does not apply to %j %j: %s", (options, pods, reason) => {
    expect(summary(decideAfter(options, { first: pods, at: 10 * deadlineMs, pods }))[0]).toBe(
      `Progressing=True ${reason}`,
    );
  });
});

describe("3541-12 the deadline is counted from the last progress", () => {
  const at = deadlineMs + 1_000;
  const exceeded = "Progressing=False ProgressDeadlineExceeded";
  test.each([
    [
      "an old pod is gone",
      ["0 old ready", "1 old ready", "2 old failing"],
      ["0 old ready", "1 old ready"],
      true,
    ],
    ["a pod is created", ["0 new ready"], ["0 new ready", "1 new failing"], true],
    ["a pod becomes ready", ["0 new ready", "1 new failing"], ["0 new ready", "1 new ready"], true],
    ["nothing changes", ["0 new ready", "1 new failing"], ["0 new ready", "1 new failing"], false],
    ["a pod is lost", ["0 new ready", "1 new failing"], ["0 new ready"], false],
    ["a pod is recreated", ["0 new ready", "1 new ready"], ["0 new ready", "1 new failing"], false],
    ["a pod fails in another way", ["0 new failing"], ["0 new permanent"], false],
  ])("%s: new deadline %s -> %s is %s", (_, first, pods, isProgress) => {
    const plan = decideAfter({}, { first, at, pods });
    expect(summary(plan)[0] === exceeded).toBe(!isProgress);
    expect(plan.progress?.time).toBe(isProgress ? "2026-01-01T00:20:01Z" : "2026-01-01T00:10:00Z");
  });

  test("and from a change of the spec", () => {
    const set = makeSet();
    const pods = ["0 old failing"];
    const { progress } = decideStatefulSet(makeFacts(set, pods));
    const recorded = withProgressRecord(set, progress) ?? set;
    const changed = { ...recorded, metadata: { ...recorded.metadata, generation: 3 } };
    const plan = decideStatefulSet({ ...makeFacts(changed, pods), now: now + at });
    expect(plan.progress).toMatchObject({ generation: 3, time: "2026-01-01T00:20:01Z" });
    expect(plan.requeueAfterMs).toBe(deadlineMs);
  });

  const startup = { startupProbe: { periodSeconds: 100, failureThreshold: 20 } };

  test.each([
    ["is extended while the startup probe of a pod has attempts left", 0, 2_001_000],
    ["is not extended by a pod that was created after the last progress", 60_000, undefined],
  ])("and %s", (_, createdMs, untilMs) => {
    const set = makeSet({ ...parallel, replicas: 1 });
    const pod = makePod(set, "0 new ready");
    const startedAt = new Date(now + createdMs).toISOString();
    const container = { name: "c", image: "", imageID: "", ready: false, restartCount: 0, started: false };
    const starting = {
      ...pod,
      metadata: { ...pod.metadata, creationTimestamp: startedAt },
      spec: { nodeName: "node", containers: [{ name: "c", image: "web:2", ...startup }] },
      status: { phase: "Running", containerStatuses: [{ ...container, state: { running: { startedAt } } }] },
    };
    const facts = { ...makeFacts(set, []), pods: [starting] };
    const recorded = withProgressRecord(set, decideStatefulSet(facts).progress) ?? set;
    const plan = decideStatefulSet({ ...facts, set: recorded, now: now + deadlineMs });
    expect(summary(plan)[0] === exceeded).toBe(untilMs === undefined);
    expect(plan.requeueAfterMs).toBe(untilMs && untilMs - deadlineMs);
  });

  test("from now on after the clock was set back", () => {
    const plan = decideAfter(
      {},
      { from: 3_600_000, first: ["0 new failing"], at: 0, pods: ["0 new failing"] },
    );
    expect(plan.progress?.time).toBe("2026-01-01T00:10:00Z");
  });
});

describe("the stored record", () => {
  const record: ProgressRecord = {
    uid: "set",
    generation: 2,
    best: [0, 0, 1, 1, 1],
    time: "2026-01-01T00:00:00Z",
  };
  const stored = (value: unknown) => ({ "kindling.dev/rollout-progress": JSON.stringify(value) });
  const timeWith = (annotations: Record<string, string>) =>
    decideStatefulSet(makeFacts(makeSet({ annotations }), ["0 new ready", "1 new failing"])).progress?.time;

  test("is used", () => {
    const best = [0, 0, 2, 1, 1];
    expect(timeWith(stored({ ...record, best }))).toBe(record.time);
  });

  test.each([
    ["of another set", stored({ ...record, uid: "other" })],
    ["that is not JSON", { "kindling.dev/rollout-progress": "{" }],
    ["without a time", stored({ ...record, time: "soon" })],
    ["without numbers", stored({ ...record, best: ["x"] })],
    ["null", stored(null)],
  ])("%s is ignored", (_, annotations) => {
    expect(timeWith(annotations)).toBe("2026-01-01T00:10:00Z");
  });

  test("is removed when the rollout is complete, and written only if it changes", () => {
    const set = makeSet({ annotations: { kept: "yes", ...stored(record) } });
    expect(withProgressRecord(set, record)).toBeUndefined();
    expect(withProgressRecord(set, undefined)?.metadata.annotations).toEqual({ kept: "yes" });
    expect(withProgressRecord(makeSet(), undefined)).toBeUndefined();
  });
});

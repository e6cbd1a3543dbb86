import { describe, expect, test } from "vitest";
import { decideStatefulSet } from "./decide-stateful-set.ts";
import {
  decide,
  decisions,
  enforced,
  expectDecision,
  makeFacts,
  makeSet,
  parallel,
  permanentOnly,
} from "./stateful-set.fixture.ts";

describe("the status", () => {
  test("counts pods by state and revision", () => {
    const { status } = decide({ replicas: 4, minReadySeconds: 30 }, [
      "0 old ready",
      "1 old creating",
      "2 new justReady",
      "3 new terminating",
    ]);
    expect(status).toMatchObject({
      observedGeneration: 2,
      replicas: 4,
      readyReplicas: 3,
      availableReplicas: 2,
      currentReplicas: 2,
      updatedReplicas: 1,
      currentRevision: "old",
      updateRevision: "new",
    });
  });

  test("makes the update revision current when all pods run it", () => {
    const { status } = decide({}, ["0 new ready", "1 new ready", "2 new ready"]);
    expect(status).toMatchObject({ currentRevision: "new", currentReplicas: 3 });
  });

  test("is computed when the next pod becomes available", () => {
    expect(decide({ minReadySeconds: 30 }, ["0 new justReady"]).requeueAfterMs).toBe(25_000);
    expect(decide({ minReadySeconds: 3, replicas: 1 }, ["0 new justReady"]).requeueAfterMs).toBeUndefined();
  });

  test("is computed when a pod that an EnforcedRollingUpdate waits for is overdue", () => {
    const waiting = ["0 old ready", "1 third creating", "2 third ready"];
    expect(decide(enforced, waiting).requeueAfterMs).toBe(595_000);
    expect(decide({}, waiting).requeueAfterMs).toBe(600_000);
    expect(decide(enforced, ["0 new ready", "1 new creating", "2 new ready"]).requeueAfterMs).toBe(600_000);
  });

  test("3541-12 is computed when the rollout exceeds its deadline, and not when it is complete", () => {
    const annotations = { "kindling.dev/progress-deadline-seconds": "5" };
    expect(decide({ annotations }, ["0 old ready"]).requeueAfterMs).toBe(5_000);
    expect(decide({ annotations, replicas: 1 }, ["0 new ready"]).requeueAfterMs).toBeUndefined();
  });

  test("is the only change for a set that is being deleted", () => {
    const facts = makeFacts(makeSet(), ["0 old ready"]);
    const set = { ...facts.set, metadata: { ...facts.set.metadata, deletionTimestamp: "x" } };
    expect(decideStatefulSet({ ...facts, set })).toMatchObject({ phases: [], status: { replicas: 1 } });
  });
});

describe("condemned pods", () => {
  const one = { replicas: 1 };
  test.each(
    decisions([
      [one, ["0 new ready", "1 new ready", "2 new ready"], ["delete 2 scaledDown"]],
      [one, ["0 new ready", "1 new ready", "2 new terminating"], []],
      // An unhealthy pod is deleted if it is the only one that is unhealthy.
      [one, ["0 new ready", "1 new ready", "2 new failing"], ["delete 2 scaledDown"]],
      [one, ["0 new ready", "1 new failing", "2 new failing"], []],
      [one, ["0 new ready", "1 new failing", "2 new ready"], ["delete 2 scaledDown"]],
      [one, ["0 new failing", "1 new ready"], []],
      [
        { ...one, ...parallel },
        ["0 new failing", "1 new failing", "2 new terminating", "3 new ready"],
        ["delete 3 scaledDown", "delete 1 scaledDown"],
      ],
      [{ replicas: 2, start: 1 }, ["0 new ready", "1 new ready", "2 new ready"], ["delete 0 scaledDown"]],
      [
        { ...one, ...enforced },
        ["0 new failing", "1 new failing", "2 new failing"],
        ["delete 2 scaledDown"],
        "3541-6",
      ],
      [{ ...one, ...enforced }, ["0 new creating", "1 new ready"], ["delete 1 scaledDown"], "3541-6"],
      [{ ...one, ...enforced }, ["0 new failing", "1 new terminating"], []],
      [{ ...one, ...permanentOnly }, ["0 new failing", "1 new failing"], ["delete 1 scaledDown"]],
      // Scaling precedes updates.
      [{ ...one, partition: 0 }, ["0 old ready", "1 old ready"], ["delete 1 scaledDown"]],
    ]),
  )("%s", expectDecision);
});

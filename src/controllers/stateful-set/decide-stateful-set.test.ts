import { describe, expect, test } from "vitest";
import { decideStatefulSet } from "./decide-stateful-set.ts";
import { decide, makeFacts, makeSet } from "./stateful-set.fixture.ts";

describe("the status", () => {
  test("counts", () => {
    const { status } = decide({ replicas: 4, minReadySeconds: 30 }, [
      "0 old ready",
      "1 old coming",
      "2 new justReady",
      "3 new going",
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

  test("takes over the update revision when all pods run it", () => {
    const { status } = decide({}, ["0 new ready", "1 new ready", "2 new ready"]);
    expect(status).toMatchObject({ currentRevision: "new", currentReplicas: 3 });
  });

  test("asks for another look when a pod will be available", () => {
    expect(decide({ minReadySeconds: 30 }, ["0 new justReady"]).againAfterMs).toBe(25_000);
    expect(decide({ minReadySeconds: 3 }, ["0 new justReady"]).againAfterMs).toBeUndefined();
  });

  test("is all that is done for a set that is being deleted", () => {
    const facts = makeFacts(makeSet(), ["0 old ready"]);
    const set = { ...facts.set, metadata: { ...facts.set.metadata, deletionTimestamp: "x" } };
    expect(decideStatefulSet({ ...facts, set })).toMatchObject({ phases: [], status: { replicas: 1 } });
  });
});

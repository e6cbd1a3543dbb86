import { expect, test } from "vitest";
import type { DaemonSet, Pod } from "../api/meta/objects.ts";
import { explainDaemonSet } from "./explain-daemon-set.ts";

const complete = {
  observedGeneration: 2,
  currentNumberScheduled: 2,
  desiredNumberScheduled: 2,
  numberMisscheduled: 0,
  numberReady: 2,
  updatedNumberScheduled: 2,
  numberAvailable: 2,
};

function setOf(status: Partial<NonNullable<DaemonSet["status"]>> = {}, type = "RollingUpdate"): DaemonSet {
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: { name: "agent", namespace: "default", generation: 2 },
    spec: { selector: {}, template: {}, minReadySeconds: 5, updateStrategy: { type } },
    status: { ...complete, ...status },
  };
}

const podOf = (name: string, ready = "True"): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name, namespace: "default" },
  status: { phase: "Running", conditions: [{ type: "Ready", status: ready }] },
});
const two = [podOf("a"), podOf("b")];

test.each<[string, DaemonSet, Pod[], string, boolean]>([
  ["complete", setOf(), two, "All pods are ready.", true],
  [
    "not observed",
    setOf({ observedGeneration: 1 }),
    two,
    "The DaemonSet controller has not processed the last change yet.",
    false,
  ],
  [
    "a pod that is not ready",
    setOf({ numberReady: 1, numberAvailable: 1 }),
    [podOf("a"), podOf("b", "False")],
    "The DaemonSet waits for pod b; 1 of 2 nodes have a ready pod.",
    false,
  ],
  [
    "no eligible node",
    setOf({ desiredNumberScheduled: 0 }),
    [],
    "No node is eligible: node selector, affinity and taints exclude all of them.",
    true,
  ],
  ["missing pods", setOf({ numberReady: 1, numberAvailable: 1 }), [podOf("a")], "1 of 2 pods exist.", false],
  [
    "a rolling update",
    setOf({ updatedNumberScheduled: 1 }),
    two,
    "1 of 2 pods have the current template; the others are replaced.",
    false,
  ],
  [
    "OnDelete",
    setOf({ updatedNumberScheduled: 1 }, "OnDelete"),
    two,
    "1 of 2 pods have the current template; OnDelete replaces a pod only when it is deleted.",
    false,
  ],
  [
    "minReadySeconds",
    setOf({ numberAvailable: 1 }),
    two,
    "2 of 2 nodes have a ready pod, but 1 not yet for 5 s (minReadySeconds).",
    false,
  ],
])("explains %s", (_, daemonSet, pods, because, isOver) => {
  expect(explainDaemonSet({ daemonSet, pods, now: 0 })).toMatchObject({ because, isOver });
});

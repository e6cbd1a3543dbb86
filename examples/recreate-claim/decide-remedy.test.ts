import { expect, test } from "vitest";
import type { PersistentVolumeClaim, Pod } from "../../src/api/meta/objects.ts";
import { decideRemedy, reachedAnnotation } from "./decide-remedy.ts";

const minute = 60_000;
const scheduledAt = "2030-01-01T00:00:00Z";
const scheduledMs = Date.parse(scheduledAt);
const claim: PersistentVolumeClaim = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data-db-0" },
};

interface Given {
  readonly sandbox?: "True" | "False" | undefined;
  readonly ready?: "True" | "False";
  readonly scheduled?: "True" | "False";
  readonly reached?: string;
  readonly deleted?: boolean;
  readonly phase?: string;
  readonly containerStatuses?: unknown[];
}

function podWith(given: Given): Pod {
  const { sandbox, ready = "False", scheduled = "True", reached, deleted, phase = "Pending" } = given;
  const conditions = [
    { type: "PodScheduled", status: scheduled, lastTransitionTime: scheduledAt },
    { type: "Ready", status: ready, lastTransitionTime: scheduledAt },
    ...(sandbox
      ? [{ type: "PodReadyToStartContainers", status: sandbox, lastTransitionTime: scheduledAt }]
      : []),
  ];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      name: "db-0",
      ...(reached && { annotations: { [reachedAnnotation]: reached } }),
      ...(deleted && { deletionTimestamp: scheduledAt }),
    },
    spec: { containers: [] },
    status: { phase, conditions, containerStatuses: given.containerStatuses },
  } as Pod;
}

const status = (given: object) => [{ name: "c", restartCount: 0, state: {}, lastState: {}, ...given }];

test.each<[string, Given, string]>([
  ["its sandbox never became ready", { sandbox: "False" }, "recreateClaims"],
  ["the sandbox is ready, its containers are not", { sandbox: "True", reached: "sandbox" }, "recreatePod"],
  ["the sandbox was ready and was lost", { sandbox: "False", reached: "sandbox" }, "recreatePod"],
  [
    "the sandbox was not observed, but a container has run",
    { sandbox: "False", containerStatuses: status({ containerID: "x://1" }) },
    "recreatePod",
  ],
  [
    "a container has been restarted",
    { sandbox: "False", containerStatuses: status({ restartCount: 1 }) },
    "recreatePod",
  ],
  ["containers are waiting", { sandbox: "False", containerStatuses: status({}) }, "recreateClaims"],
  ["a cluster without the condition", { sandbox: undefined }, "recreatePod"],
  ["it is ready", { sandbox: "True", ready: "True", reached: "ready" }, "leave"],
  ["it was ready once", { sandbox: "False", ready: "False", reached: "ready" }, "leave"],
  ["it is being deleted", { sandbox: "False", deleted: true }, "leave"],
  ["it has failed", { sandbox: "False", phase: "Failed" }, "leave"],
  ["it is not scheduled", { sandbox: "False", scheduled: "False" }, "leave"],
  ["its sandbox became ready", { sandbox: "True" }, "mark"],
  ["it became ready", { sandbox: "True", ready: "True", reached: "sandbox" }, "mark"],
])("3085-14: %s: %j → %s", (_, given, kind) => {
  const pod = podWith(given);
  const remedy = decideRemedy({ pod, claims: [claim], now: scheduledMs + minute, timeoutMs: minute });
  expect(remedy.kind).toBe(kind);
});

test("3085-14: waits for the timeout", () => {
  const facts = { pod: podWith({ sandbox: "False" }), claims: [claim], timeoutMs: minute };
  expect(decideRemedy({ ...facts, now: scheduledMs + minute - 1 })).toEqual({
    kind: "waitUntil",
    atMs: scheduledMs + minute,
  });
});

test("3085-14: deletes only the pod if it has no deletable claim", () => {
  const facts = { pod: podWith({ sandbox: "False" }), now: scheduledMs + minute, timeoutMs: minute };
  expect(decideRemedy({ ...facts, claims: [] }).kind).toBe("recreatePod");
  expect(decideRemedy({ ...facts, claims: [claim] })).toMatchObject({ claims: [claim] });
});

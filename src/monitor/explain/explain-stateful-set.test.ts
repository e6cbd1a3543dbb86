import { expect, test } from "vitest";
import type { Pod, StatefulSet } from "../../api/objects.ts";
import { explainStatefulSet } from "./explain-stateful-set.ts";

const pod = (ordinal: number, revision: string, ready: boolean): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: `db-${ordinal}`, namespace: "shop", labels: { "controller-revision-hash": revision } },
  status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }] },
});

const set = (type: string, podManagementPolicy = "OrderedReady", partition?: number): StatefulSet => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: { name: "db", namespace: "shop" },
  spec: {
    replicas: 2,
    podManagementPolicy,
    updateStrategy: { type, ...(partition !== undefined && { rollingUpdate: { partition } }) },
  } as StatefulSet["spec"],
  status: { replicas: 2, updateRevision: "new" },
});

test.each([
  {
    name: "complete",
    set: set("RollingUpdate"),
    pods: [pod(0, "new", true), pod(1, "new", true)],
    because: /All of its pods are ready/,
    heals: true,
  },
  {
    name: "a pod of the new revision is on its way",
    set: set("RollingUpdate"),
    pods: [pod(0, "old", true), pod(1, "new", false)],
    because: /It waits for pod db-1/,
    heals: true,
  },
  {
    name: "stuck: the template is mended and the broken pod stays",
    set: set("RollingUpdate"),
    pods: [pod(0, "old", true), pod(1, "broken", false)],
    because:
      /db-1 is not ready and of an older revision than the template; RollingUpdate does not replace it/,
    heals: false,
    fix: /kubectl delete pod db-1 -n shop .* kubectl patch statefulset db -n shop -p .*EnforcedRollingUpdate/,
  },
  {
    name: "the same under EnforcedRollingUpdate",
    set: set("EnforcedRollingUpdate"),
    pods: [pod(0, "old", true), pod(1, "broken", false)],
    because: /It waits for pod db-1/,
    heals: true,
  },
  {
    name: "the same where pods do not wait for each other",
    set: set("RollingUpdate", "Parallel"),
    pods: [pod(0, "old", true), pod(1, "broken", false)],
    because: /about to be replaced/,
    heals: true,
  },
  {
    name: "the same under Recreate",
    set: set("Recreate"),
    pods: [pod(0, "old", true), pod(1, "broken", false)],
    because: /about to be replaced/,
    heals: true,
  },
  {
    name: "an update under way",
    set: set("RollingUpdate", "OrderedReady", 1),
    pods: [pod(0, "old", true), pod(1, "old", true)],
    because: /2 of 2 pods are ready and of an older revision; they are replaced one by one/,
    heals: true,
  },
  {
    name: "a partition holds the rest back",
    set: set("RollingUpdate", "OrderedReady", 1),
    pods: [pod(0, "old", true), pod(1, "new", true)],
    because: /Ordinals below 1 keep their revision/,
    heals: false,
    fix: /kubectl patch statefulset db -n shop -p '\{"spec":\{"updateStrategy":\{"rollingUpdate":\{"partition":0/,
  },
  {
    name: "pods are missing",
    set: set("RollingUpdate"),
    pods: [pod(0, "new", true)],
    because: /1 of 2 pods exist/,
    heals: true,
    fix: /kubectl describe statefulset db -n shop/,
  },
  {
    name: "OnDelete waits for somebody",
    set: set("OnDelete"),
    pods: [pod(0, "old", true), pod(1, "new", true)],
    because: /1 of 2 pods are ready and of an older revision; OnDelete/,
    heals: false,
    fix: /kubectl delete pod db-0 -n shop/,
  },
])("$name", ({ set: given, pods, because, heals, fix }) => {
  const explanation = explainStatefulSet(given, pods);
  expect(explanation.because).toMatch(because);
  expect(explanation.healsByItself).toBe(heals);
  if (fix) expect(explanation.fix).toMatch(fix);
  else expect(explanation.fix).toBeUndefined();
});

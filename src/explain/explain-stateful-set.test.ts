import { expect, test } from "vitest";
import type { Pod, StatefulSet } from "../api/meta/objects.ts";
import { explainStatefulSet } from "./explain-stateful-set.ts";
import { findBlockingPod } from "./stateful-set-pods.ts";

const now = Date.parse("2026-01-01T01:00:00Z");

const pod = (ordinal: number, revision: string, ready: boolean, more: Partial<Pod> = {}): Pod => ({
  apiVersion: "v1",
  kind: "Pod",
  metadata: {
    name: `db-${ordinal}`,
    namespace: "shop",
    labels: { "controller-revision-hash": revision },
    ...more.metadata,
  },
  status: { conditions: [{ type: "Ready", status: ready ? "True" : "False" }], ...more.status },
});
const terminating = (ordinal: number, since: string): Pod => {
  const { metadata, ...rest } = pod(ordinal, "old", false);
  const times = { deletionTimestamp: since, deletionGracePeriodSeconds: 30 };
  return { ...rest, metadata: { ...metadata, ...times } };
};
const permanent = {
  status: {
    conditions: [
      { type: "Ready", status: "False" },
      { type: "FailingToStart", status: "True", reason: "InvalidImageName", message: "no" },
    ],
  },
};

const set = (
  type: string,
  {
    policy = "OrderedReady",
    unstick,
    conditions,
    metadata,
    ...rollingUpdate
  }: {
    policy?: string;
    unstick?: string;
    partition?: number;
    maxUnavailable?: number;
    conditions?: { type: string; status: string; reason: string; message: string }[];
    metadata?: object;
  } = {},
): StatefulSet => ({
  apiVersion: "apps/v1",
  kind: "StatefulSet",
  metadata: {
    name: "db",
    namespace: "shop",
    ...(unstick !== undefined && { annotations: { "kindling.dev/unstick": unstick } }),
    ...metadata,
  },
  spec: {
    replicas: 2,
    podManagementPolicy: policy,
    updateStrategy: { type, ...(Object.keys(rollingUpdate).length > 0 && { rollingUpdate }) },
  } as StatefulSet["spec"],
  status: { replicas: 2, updateRevision: "new", conditions },
});

const stuck = [pod(0, "old", true), pod(1, "broken", false)];
const kindling = { isKindling: true, acceptsEnforced: true };
const upstream = { isKindling: false, acceptsEnforced: false };

test.each([
  {
    name: "complete",
    set: set("RollingUpdate"),
    pods: [pod(0, "new", true), pod(1, "new", true)],
    because: /All pods are ready/,
    transient: true,
  },
  {
    name: "a pod of the update revision is starting",
    set: set("RollingUpdate"),
    pods: [pod(0, "old", true), pod(1, "new", false)],
    because: /The rollout waits for pod db-1/,
    transient: true,
  },
  {
    name: "stuck: the template is corrected and the broken pod stays",
    set: set("RollingUpdate"),
    pods: stuck,
    platform: kindling,
    because:
      /db-1 is not ready and of an older revision than the template; RollingUpdate does not replace it\. The template has changed since .* only the old pod is in the way\.$/,
    transient: false,
    fix: /^replace it: kubectl delete pod db-1 -n shop\nlet the update replace all such pods: kubectl patch statefulset db -n shop -p .*EnforcedRollingUpdate/,
  },
  {
    name: "a strategy that the API server refuses is not proposed",
    set: set("RollingUpdate"),
    pods: stuck,
    platform: { isKindling: true, acceptsEnforced: false },
    because: /only the old pod is in the way/,
    transient: false,
    fix: /^replace it: kubectl delete pod db-1 -n shop$/,
  },
  {
    name: "maxUnavailable does not help with OrderedReady",
    set: set("RollingUpdate", { maxUnavailable: 2 }),
    pods: stuck,
    platform: upstream,
    because: /A maxUnavailable of 2 does not change that\.$/,
    transient: false,
    fix: /^replace it: kubectl delete pod db-1 -n shop$/,
  },
  {
    name: "the same under EnforcedRollingUpdate",
    set: set("EnforcedRollingUpdate"),
    pods: stuck,
    because: /Pod db-1 is not ready and is about to be replaced/,
    transient: true,
  },
  {
    name: "permanent-only keeps a pod that may recover",
    set: set("EnforcedRollingUpdate", { unstick: "permanent-only" }),
    pods: stuck,
    because: /the annotation kindling\.dev\/unstick: permanent-only keeps it, because it may recover/,
    transient: true,
    fix: /^replace it: kubectl delete pod db-1 -n shop\n.*: kubectl annotate statefulset db -n shop kindling\.dev\/unstick=always --overwrite$/,
  },
  {
    name: "permanent-only replaces a pod that cannot recover",
    set: set("EnforcedRollingUpdate", { unstick: "permanent-only" }),
    pods: [pod(0, "old", true), pod(1, "broken", false, permanent)],
    because: /about to be replaced/,
    transient: true,
  },
  {
    name: "never keeps the pod",
    set: set("EnforcedRollingUpdate", { unstick: "never" }),
    pods: [pod(0, "old", true), pod(1, "broken", false, permanent)],
    because: /the annotation kindling\.dev\/unstick: never keeps it\.$/,
    transient: false,
    fix: /kubectl delete pod db-1/,
  },
  {
    name: "an unknown value of the annotation keeps the pod",
    set: set("EnforcedRollingUpdate", { unstick: "sometimes" }),
    pods: stuck,
    because: /has the unknown value "sometimes", which is treated as never\.$/,
    transient: false,
    fix: /kubectl annotate/,
  },
  {
    name: "the gate is off",
    set: set("EnforcedRollingUpdate", {
      conditions: [
        {
          type: "Progressing",
          status: "False",
          reason: "UnknownStrategy",
          message:
            "statefulset shop/db uses EnforcedRollingUpdate strategy but feature gate EnforcedRollingUpdateInStatefulSet is disabled",
        },
      ],
    }),
    pods: stuck,
    because:
      /does not change the pods of this set: .* feature gate EnforcedRollingUpdateInStatefulSet is disabled\.$/,
    transient: false,
    fix: /^enable the gate: .*--feature-gates=EnforcedRollingUpdateInStatefulSet=true\nuse a strategy that needs no gate: kubectl patch .*RollingUpdate/,
  },
  {
    name: "the same with Parallel under Kindling",
    set: set("RollingUpdate", { policy: "Parallel" }),
    pods: stuck,
    platform: kindling,
    because: /about to be replaced/,
    transient: true,
  },
  {
    name: "the same with Parallel under upstream's controller without MaxUnavailableStatefulSet",
    set: set("RollingUpdate", { policy: "Parallel" }),
    pods: stuck,
    platform: upstream,
    because: /^Pod db-1 is not ready and is about to be replaced\.$/,
    transient: true,
  },
  {
    name: "the same with Parallel under upstream's controller with MaxUnavailableStatefulSet",
    set: set("RollingUpdate", { policy: "Parallel", maxUnavailable: 1 }),
    pods: stuck,
    platform: upstream,
    because:
      /MaxUnavailableStatefulSet is on, .* does not replace it: 1 pod is unavailable and maxUnavailable is 1\./,
    transient: false,
    fix: /^replace it: kubectl delete pod db-1 -n shop$/,
  },
  {
    name: "the same with Parallel and a larger maxUnavailable",
    set: set("RollingUpdate", { policy: "Parallel", maxUnavailable: 2 }),
    pods: stuck,
    platform: upstream,
    because: /MaxUnavailableStatefulSet is on, .* replaces pods while fewer than 2 are unavailable/,
    transient: true,
  },
  {
    name: "Parallel with maxUnavailable under Kindling, which replaces the pod",
    set: set("RollingUpdate", { policy: "Parallel", maxUnavailable: 1 }),
    pods: stuck,
    platform: kindling,
    because: /about to be replaced/,
    transient: true,
  },
  {
    name: "the same under Recreate",
    set: set("Recreate"),
    pods: stuck,
    because: /about to be replaced/,
    transient: true,
  },
  {
    name: "the same under OnDelete",
    set: set("OnDelete"),
    pods: stuck,
    because: /OnDelete replaces a pod when it is deleted/,
    transient: false,
    fix: /^replace it: kubectl delete pod db-1 -n shop$/,
  },
  {
    name: "below the partition",
    set: set("RollingUpdate", { partition: 2 }),
    pods: stuck,
    because: /the update does not reach it: spec\.updateStrategy\.rollingUpdate\.partition is 2/,
    transient: true,
    fix: /kubectl patch statefulset db/,
  },
  {
    name: "a pod that is not created again is not to be deleted",
    set: set("RollingUpdate"),
    pods: [pod(0, "new", true), pod(1, "new", true), pod(2, "old", false)],
    because: /Pod db-2 is beyond the replicas/,
    transient: true,
  },
  {
    name: "a set that is being deleted: no pod is to be deleted",
    set: set("RollingUpdate", {
      metadata: { deletionTimestamp: "2026-01-01T00:00:00Z", finalizers: ["foregroundDeletion"] },
    }),
    pods: stuck,
    because: /is being deleted; its finalizers block the deletion: foregroundDeletion/,
    transient: true,
  },
  {
    name: "a larger pod is stuck terminating",
    set: set("RollingUpdate"),
    pods: [pod(0, "new", false), terminating(1, "2026-01-01T00:50:00Z")],
    because:
      /^The rollout waits for pod db-0\. The set also waits for pod db-1, which has been terminating for 10m\.$/,
    transient: false,
    fix: /^find out why it still exists: kindling why db-1 -n shop$/,
  },
  {
    name: "only a terminating pod is in the way",
    set: set("RollingUpdate"),
    pods: [pod(0, "old", true), terminating(1, "2026-01-01T01:00:10Z")],
    because: /^The set waits for pod db-1, which has been terminating for 20s\.$/,
    transient: true,
  },
  {
    name: "an update in progress",
    set: set("RollingUpdate", { partition: 1 }),
    pods: [pod(0, "old", true), pod(1, "old", true)],
    because: /2 of 2 pods are ready and of an older revision; they are replaced one by one/,
    transient: true,
  },
  {
    name: "a partition",
    set: set("RollingUpdate", { partition: 1 }),
    pods: [pod(0, "old", true), pod(1, "new", true)],
    because: /Ordinals below 1 keep their revision/,
    transient: false,
    fix: /kubectl patch statefulset db -n shop -p '\{"spec":\{"updateStrategy":\{"rollingUpdate":\{"partition":0/,
  },
  {
    name: "pods are missing",
    set: set("RollingUpdate"),
    pods: [pod(0, "new", true)],
    because: /1 of 2 pods exist/,
    transient: true,
    fix: /kubectl describe statefulset db -n shop/,
  },
  {
    name: "pods cannot be created",
    set: set("RollingUpdate"),
    pods: [pod(0, "new", true)],
    events: [{ reason: "FailedCreate", message: "create Pod db-1 failed: exceeded quota" }],
    because: /1 of 2 pods exist: create Pod db-1 failed: exceeded quota\.$/,
    transient: true,
    fix: /kubectl describe statefulset db -n shop/,
  },
  {
    name: "OnDelete waits for a deletion",
    set: set("OnDelete"),
    pods: [pod(0, "old", true), pod(1, "new", true)],
    because: /1 of 2 pods are ready and of an older revision; OnDelete/,
    transient: false,
    fix: /kubectl delete pod db-0 -n shop/,
  },
])("$name", ({ set: given, pods, events = [], platform, because, transient, fix }) => {
  const list = events.map((event) => ({
    apiVersion: "v1",
    kind: "Event",
    metadata: {},
    involvedObject: {},
    ...event,
  }));
  const explanation = explainStatefulSet({ set: given, pods, events: list, platform, now });
  expect(explanation.because).toMatch(because);
  expect(explanation.isTransient).toBe(transient);
  if (fix) expect(explanation.fix).toMatch(fix);
  else expect(explanation.fix).toBeUndefined();
});

test.each([
  { name: "all ready", pods: [pod(0, "new", true)], expected: undefined },
  {
    name: "the lowest ordinal, compared as a number",
    pods: [pod(10, "old", false), pod(9, "old", false)],
    expected: "db-9",
  },
  {
    name: "the update revision before older ones",
    pods: [pod(0, "old", false), pod(2, "new", false)],
    expected: "db-2",
  },
  {
    name: "a terminating pod only if no other is in the way",
    pods: [terminating(0, "2026-01-01T00:50:00Z"), pod(1, "old", false)],
    expected: "db-1",
  },
])("findBlockingPod: $name", ({ pods, expected }) => {
  expect(findBlockingPod(pods, "new")?.metadata.name).toBe(expected);
});

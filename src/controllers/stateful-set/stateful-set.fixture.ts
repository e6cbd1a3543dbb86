import { expect } from "vitest";
import type { PersistentVolumeClaim, Pod, StatefulSet } from "../../api/objects.ts";
import { decideStatefulSet } from "./decide-stateful-set.ts";
import { newPod, ordinalOf, type Revision } from "./pod-identity.ts";
import type { PodAction, StatefulSetFacts, StatefulSetPlan } from "./stateful-set-facts.ts";

export const now = Date.parse("2026-01-01T00:10:00Z");
export const before = "2026-01-01T00:00:00Z";

export interface SetOptions {
  readonly type?: string;
  readonly policy?: "OrderedReady" | "Parallel";
  readonly replicas?: number;
  readonly start?: number;
  readonly partition?: number;
  readonly maxUnavailable?: number | string;
  readonly minReadySeconds?: number;
  readonly annotations?: Record<string, string>;
  readonly claims?: boolean;
  readonly retention?: { readonly whenScaled: string; readonly whenDeleted: string };
  readonly currentReplicas?: number;
}

export const parallel = { policy: "Parallel" } as const;
export const enforced = { type: "EnforcedRollingUpdate" };
export const permanentOnly = { ...enforced, annotations: { "kindling.dev/unstick": "permanent-only" } };

export function makeSet(options: SetOptions = {}): StatefulSet {
  const { partition, maxUnavailable } = options;
  const rolls = partition !== undefined || maxUnavailable !== undefined;
  const labels = { app: "web" };
  return {
    apiVersion: "apps/v1",
    kind: "StatefulSet",
    metadata: {
      name: "web",
      namespace: "default",
      uid: "set",
      generation: 2,
      annotations: options.annotations,
    },
    spec: {
      replicas: options.replicas ?? 3,
      serviceName: "web",
      selector: { matchLabels: labels },
      podManagementPolicy: options.policy ?? "OrderedReady",
      updateStrategy: {
        type: options.type ?? "RollingUpdate",
        ...(rolls && { rollingUpdate: { partition: partition ?? 0, maxUnavailable } }),
      },
      ...(options.start !== undefined && { ordinals: { start: options.start } }),
      minReadySeconds: options.minReadySeconds,
      persistentVolumeClaimRetentionPolicy: options.retention,
      ...(options.claims && { volumeClaimTemplates: [{ metadata: { name: "data" }, spec: {} }] }),
      template: { metadata: { labels }, spec: { containers: [{ name: "c", image: "web:2" }] } },
    },
    status: { replicas: 0, currentReplicas: options.currentReplicas },
  };
}

const old = revision("old", "web:1");
export const update = revision("new", "web:2");

function revision(name: string, image: string): Revision {
  return {
    name,
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image }] } },
  };
}

/** `0 old ready`: ordinal, revision, state; `permanent+pulling`: and what another container of the pod does. */
export function makePod(set: StatefulSet, line: string): Pod {
  const [ordinal = "", name = "", state = ""] = line.split(" ");
  const pod = newPod(set, name === "new" ? update : { ...old, name }, Number(ordinal));
  const goes = state === "going" && { deletionTimestamp: before };
  const metadata = { ...pod.metadata, uid: `uid-${ordinal}`, creationTimestamp: before, ...goes };
  return {
    ...pod,
    metadata,
    spec: { ...pod.spec, nodeName: "node", containers: pod.spec?.containers ?? [] },
    status: statusOf(state),
  };
}

function statusOf(states: string): Pod["status"] {
  const [state = "", other = ""] = states.split("+");
  if (state === "Failed" || state === "Succeeded") return { phase: state };
  const waiting = { failing: "ImagePullBackOff", permanent: "InvalidImageName", coming: "ContainerCreating" }[
    state
  ];
  const since = state === "justReady" ? "2026-01-01T00:09:55Z" : before;
  const common = { image: "", imageID: "", ready: !waiting, restartCount: 0 };
  const container = {
    ...common,
    name: "c",
    state: waiting ? { waiting: { reason: waiting } } : { running: {} },
  };
  const another = {
    pulling: { state: { waiting: { reason: "ContainerCreating" } } },
    starting: { started: false, state: { running: {} } },
    started: { started: true, state: { running: {} } },
    initializing: { state: { waiting: { reason: "PodInitializing" } } },
  }[other];
  return {
    phase: waiting ? "Pending" : "Running",
    conditions: [
      { type: "PodScheduled", status: "True" },
      { type: "Ready", status: waiting ? "False" : "True", lastTransitionTime: since },
    ],
    containerStatuses: [container, ...(another ? [{ ...common, name: "d", ...another }] : [])],
  };
}

export function makeFacts(
  set: StatefulSet,
  pods: readonly string[],
  claims: readonly PersistentVolumeClaim[] = [],
): StatefulSetFacts {
  return {
    set,
    pods: pods.map((line) => makePod(set, line)),
    current: old,
    update,
    collisionCount: 0,
    claim: (name) => claims.find(({ metadata }) => metadata.name === name),
    now,
  };
}

export function makeClaim(
  name: string,
  metadata: Partial<PersistentVolumeClaim["metadata"]> = {},
): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace: "default", ...metadata },
  };
}

/** `create 2 new`, `delete 1 updated`: every phase in order. */
export function actionsOf({ phases }: StatefulSetPlan): string[] {
  return phases.flat(2).map(describe);
}

function describe(action: PodAction): string {
  switch (action.kind) {
    case "createPod":
      return `create ${ordinalOf(action.pod)} ${action.pod.metadata.labels?.["controller-revision-hash"]}`;
    case "deletePod":
      return `delete ${ordinalOf(action.pod)} ${action.why}`;
    case "createClaim":
      return `claim ${action.claim.metadata.name}`;
    case "ownClaim":
      return `own ${action.claim.metadata.name} ${action.owners.map(({ kind }) => kind).join() || "nobody"}`;
    case "correctPod":
      return `correct ${ordinalOf(action.pod)}`;
    case "fail":
      return `fail ${action.message}`;
    case "warn":
      return `warn ${action.reason}`;
  }
}

export function decide(
  options: SetOptions,
  pods: readonly string[],
  claims: readonly PersistentVolumeClaim[] = [],
): StatefulSetPlan {
  return decideStatefulSet(makeFacts(makeSet(options), pods, claims));
}

/** A set, the pods that there are, what is done then, and the clause that asks for it. */
type Decision = readonly [
  options: SetOptions,
  pods: readonly string[],
  actions: readonly string[],
  clause?: string,
];

/** Each with a name, for a table of tests. */
export function decisions(table: readonly Decision[]): [string, Decision][] {
  return table.map((row) => {
    const [options, pods, actions, clause = ""] = row;
    return [`${clause} ${JSON.stringify([options, pods, actions])}`.trim(), row];
  });
}

export function expectDecision(_name: string, [options, pods, actions]: Decision): void {
  expect(actionsOf(decide(options, pods))).toEqual(actions);
}

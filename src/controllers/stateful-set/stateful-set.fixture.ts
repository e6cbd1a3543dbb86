import { expect } from "vitest";
import type { PersistentVolumeClaim, Pod, StatefulSet } from "../../api/meta/objects.ts";
import { decideStatefulSet } from "./decide-stateful-set.ts";
import { newPod, ordinalOf, type Revision } from "./pod-identity.ts";
import type { PodAction, StatefulSetFacts, StatefulSetPlan } from "./stateful-set-facts.ts";
import { type UpdateRecord, updateRecordAnnotation } from "./update-record.ts";

export const now = Date.parse("2026-01-01T00:10:00Z");
export const before = "2026-01-01T00:00:00Z";
const justNow = "2026-01-01T00:09:55Z";

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
  /** UpdateRecord of the set: number of replicas at the start of the update, and its frontier. */
  readonly record?: { readonly initial: number; readonly frontier: number };
}

export const parallel = { policy: "Parallel" } as const;
export const enforced = { type: "EnforcedRollingUpdate" };
export const unstick = (policy: string) => ({ ...enforced, annotations: { "kindling.dev/unstick": policy } });
export const permanentOnly = unstick("permanent-only");
export const neverUnstick = unstick("never");

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
      annotations: { ...options.annotations, ...(options.record && recordOf(options.record)) },
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

function recordOf({ initial, frontier }: NonNullable<SetOptions["record"]>): Record<string, string> {
  const ordinals = { start: 0, replicas: initial };
  const revision = { name: "new", number: 2 };
  const record: UpdateRecord = { uid: "set", revision, initialOrdinals: ordinals, frontier, ordinals };
  return { [updateRecordAnnotation]: JSON.stringify(record) };
}

const old = revision("old", "web:1", 1);
export const update = revision("new", "web:2", 2);

function revision(name: string, image: string, number: number): Revision {
  return {
    name,
    number,
    template: { metadata: { labels: { app: "web" } }, spec: { containers: [{ name: "c", image }] } },
  };
}

/**
 * Parses `0 old ready` (ordinal, revision, state); `permanent+pulling` adds a second container in that state. `creating`
 * has time left to become Ready, `overdue` has not.
 */
export function makePod(set: StatefulSet, line: string): Pod {
  const [ordinal = "", name = "", state = ""] = line.split(" ");
  const pod = newPod(set, name === "new" ? update : { ...old, name }, Number(ordinal));
  const createdAt = state === "creating" ? justNow : before;
  const deletion = state === "terminating" && { deletionTimestamp: before };
  const metadata = { ...pod.metadata, uid: `uid-${ordinal}`, creationTimestamp: createdAt, ...deletion };
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
  if (state === "evicted") {
    const ended = { exitCode: 137, containerID: "", reason: "Error" };
    const container = { name: "c", image: "", imageID: "", ready: false, restartCount: 0 };
    return { phase: "Failed", containerStatuses: [{ ...container, state: { terminated: ended } }] };
  }
  const waiting = {
    failing: "ImagePullBackOff",
    permanent: "InvalidImageName",
    creating: "ContainerCreating",
    overdue: "ContainerCreating",
  }[state];
  const since = state === "justReady" ? justNow : before;
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

/** Describes the actions of all phases in order: `create 2 new`, `delete 1 updated`. */
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
      return `own ${action.claim.metadata.name} ${action.owners.map(({ kind }) => kind).join() || "none"}`;
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

/** Options of a set, its pods, the expected actions, and the clause that requires them. */
type Decision = readonly [
  options: SetOptions,
  pods: readonly string[],
  actions: readonly string[],
  clause?: string,
];

/** Rows with names, for a table of tests. */
export function decisions(table: readonly Decision[]): [string, Decision][] {
  return table.map((row) => {
    const [options, pods, actions, clause = ""] = row;
    return [`${clause} ${JSON.stringify([options, pods, actions])}`.trim(), row];
  });
}

export function expectDecision(_name: string, [options, pods, actions]: Decision): void {
  expect(actionsOf(decide(options, pods))).toEqual(actions);
}

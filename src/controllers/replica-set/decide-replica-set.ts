import { isEqual } from "../../api/meta/is-equal.ts";
import { conditionOf, isReady } from "../../api/meta/object-facts.ts";
import type { Pod, ReplicaSet } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { isSidecar } from "../../api/pod/pod-resources.ts";
import { availableInMs } from "../../api/pod/pod-state.ts";

export type ReplicasPlan =
  | { readonly kind: "keep" }
  | { readonly kind: "create"; readonly count: number }
  | { readonly kind: "delete"; readonly pods: readonly Pod[] };

interface Facts {
  readonly set: ReplicaSet;
  /** Pods of the set that have neither terminated nor are terminating. */
  readonly active: readonly Pod[];
  /** Active pods of all ReplicaSets with the same owner. */
  related(): readonly Pod[];
  readonly now: number;
}

/** Maximum number of pods that are created or deleted per sync. */
const maxBurst = 500;

export function decideReplicas({ set, active, related, now }: Facts): ReplicasPlan {
  if (set.metadata.deletionTimestamp) return { kind: "keep" };
  const missing = (set.spec?.replicas ?? 1) - active.length;
  if (missing > 0) return { kind: "create", count: Math.min(missing, maxBurst) };
  if (missing === 0) return { kind: "keep" };
  const count = Math.min(-missing, maxBurst);
  return { kind: "delete", pods: podsToDelete(active, count, { related: related(), now }) };
}

const deletionCost = "controller.kubernetes.io/pod-deletion-cost";
const maxCost = 2 ** 31 - 1;
const phaseOrder: Readonly<Record<string, number>> = { Pending: 0, Unknown: 1, Running: 2 };

interface Ranking {
  /** Active pods of all ReplicaSets with the same owner, including these. */
  readonly related: readonly Pod[];
  readonly now: number;
}

/** Chooses the pods to delete in upstream's order: least useful first, then from nodes with many related pods. */
export function podsToDelete(pods: readonly Pod[], count: number, { related, now }: Ranking): readonly Pod[] {
  if (count >= pods.length) return pods;
  const onNode = new Map<string, number>();
  for (const pod of related) {
    const node = pod.spec?.nodeName ?? "";
    onNode.set(node, (onNode.get(node) ?? 0) + 1);
  }
  const podsOnNode = (pod: Pod) => onNode.get(pod.spec?.nodeName ?? "") ?? 0;
  return [...pods].sort((a, b) => compare(a, b, { podsOnNode, now })).slice(0, count);
}

interface Comparison {
  podsOnNode(pod: Pod): number;
  readonly now: number;
}

/** Upstream's order; each criterion applies if the previous ones are equal. */
function compare(a: Pod, b: Pod, { podsOnNode, now }: Comparison): number {
  return (
    Number(isAssigned(a)) - Number(isAssigned(b)) ||
    phaseOf(a) - phaseOf(b) ||
    Number(isReady(a)) - Number(isReady(b)) ||
    costOf(a) - costOf(b) ||
    podsOnNode(b) - podsOnNode(a) ||
    compareAges(readySince(a), readySince(b), { a, b, now }) ||
    restartsOf(b) - restartsOf(a) ||
    sidecarRestartsOf(b) - sidecarRestartsOf(a) ||
    compareAges(createdAt(a), createdAt(b), { a, b, now })
  );
}

function isAssigned({ spec }: Pod): boolean {
  return Boolean(spec?.nodeName);
}

function phaseOf({ status }: Pod): number {
  return phaseOrder[status?.phase ?? ""] ?? 0;
}

/** Deletion cost of a pod. 0 if it is not a valid number. */
function costOf({ metadata }: Pod): number {
  const text = metadata.annotations?.[deletionCost] ?? "";
  if (!/^(0|-?[1-9][0-9]{0,9})$/.test(text)) return 0;
  const cost = Number(text);
  return cost > maxCost || cost < -maxCost - 1 ? 0 : cost;
}

/**
 * Orders younger pods first. Ages are compared by order of magnitude, so that the uid decides between similar ones:
 * otherwise scaling down would always delete the pods of the last scaling up, and leave old pods in one zone.
 */
function compareAges(
  sinceA: number,
  sinceB: number,
  { a, b, now }: { readonly a: Pod; readonly b: Pod; readonly now: number },
): number {
  if (sinceA === sinceB) return 0;
  return magnitude(now - sinceA) - magnitude(now - sinceB) || compareUids(a, b);
}

function magnitude(ageMs: number): number {
  // In nanoseconds, as upstream.
  return ageMs > 0 ? Math.floor(Math.log2(ageMs * 1e6)) : -1;
}

function compareUids(a: Pod, b: Pod): number {
  return (a.metadata.uid ?? "") < (b.metadata.uid ?? "") ? -1 : 1;
}

function readySince(pod: Pod): number {
  return isReady(pod) ? timeOf(conditionOf(pod, "Ready")?.lastTransitionTime) : 0;
}

function createdAt({ metadata }: Pod): number {
  return timeOf(metadata.creationTimestamp);
}

function timeOf(text: string | undefined): number {
  return (text && Date.parse(text)) || 0;
}

function restartsOf({ status }: Pod): number {
  return Math.max(0, ...(status?.containerStatuses ?? []).map(({ restartCount }) => restartCount));
}

function sidecarRestartsOf({ spec, status }: Pod): number {
  const sidecars = new Set(spec?.initContainers?.filter(isSidecar).map(({ name }) => name));
  const counts = (status?.initContainerStatuses ?? [])
    .filter(({ name }) => sidecars.has(name))
    .map(({ restartCount }) => restartCount);
  return Math.max(0, ...counts);
}

type ReplicaSetStatus = NonNullable<ReplicaSet["status"]>;
type Conditions = NonNullable<ReplicaSetStatus["conditions"]>;

interface StatusFacts {
  readonly set: ReplicaSet;
  readonly active: readonly Pod[];
  readonly terminating: readonly Pod[];
  /** Error of creating or deleting pods. */
  readonly failure?: string;
  readonly now: number;
}

interface StatusDecision {
  /** Status to write. Omitted if unchanged. */
  readonly status?: ReplicaSetStatus;
  /** Delay until the next pod becomes available. */
  readonly requeueAfterMs?: number;
}

export function decideStatus({ set, active, terminating, failure, now }: StatusFacts): StatusDecision {
  const minReadySeconds = set.spec?.minReadySeconds ?? 0;
  const waits = active
    .map((pod) => availableInMs(pod, minReadySeconds, now))
    .filter((wait) => wait !== undefined);
  const pending = waits.filter((wait) => wait > 0);
  // As upstream, counts of zero are omitted.
  const status: ReplicaSetStatus = {
    replicas: active.length,
    fullyLabeledReplicas: active.filter((pod) => isFullyLabeled(set, pod)).length || undefined,
    readyReplicas: waits.length || undefined,
    availableReplicas: waits.length - pending.length || undefined,
    terminatingReplicas: terminating.length,
    observedGeneration: set.metadata.generation,
    conditions: conditionsAfter({ set, active, failure, now }),
  };
  return {
    ...(!isEqual(set.status, status) && { status }),
    ...(pending.length > 0 && { requeueAfterMs: Math.min(...pending) }),
  };
}

function isFullyLabeled({ spec }: ReplicaSet, { metadata }: Pod): boolean {
  const labels = Object.entries(spec?.template?.metadata?.labels ?? {});
  return labels.every(([key, value]) => metadata.labels?.[key] === value);
}

function conditionsAfter({ set, active, failure, now }: Omit<StatusFacts, "terminating">): Conditions {
  const before = set.status?.conditions ?? [];
  const others = before.filter(({ type }) => type !== "ReplicaFailure");
  if (failure === undefined) return others;
  // The condition keeps the time of the first failure.
  if (others.length < before.length) return before;
  const tooFew = active.length < (set.spec?.replicas ?? 1);
  return [
    ...others,
    {
      type: "ReplicaFailure",
      status: "True",
      reason: tooFew ? "FailedCreate" : "FailedDelete",
      message: failure,
      lastTransitionTime: formatTime(now),
    },
  ];
}

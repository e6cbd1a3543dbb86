import { isEqual } from "../../api/meta/is-equal.ts";
import { conditionOf, isReady } from "../../api/meta/object-facts.ts";
import type { Pod, PodCondition, PodDisruptionBudget } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import { scaledValue } from "../../lib/scaled-value.ts";

type BudgetStatus = NonNullable<PodDisruptionBudget["status"]>;
type Conditions = NonNullable<BudgetStatus["conditions"]>;

/** Controller of a pod and its desired number of replicas. */
export interface Scale {
  readonly uid: string;
  readonly replicas: number;
}

interface Facts {
  readonly budget: PodDisruptionBudget;
  /** Pods that the budget selects. */
  readonly pods: readonly Pod[];
  /** Returns `none` for a pod without a controller and undefined if its controller cannot be found. */
  scaleOf(pod: Pod): Scale | "none" | undefined;
  readonly now: number;
}

export interface DisruptionDecision {
  /** Status to write. Omitted if unchanged. */
  readonly status?: BudgetStatus;
  /** Pods whose eviction was granted but that were not deleted in time. Reported as events. */
  readonly notDeleted: readonly Pod[];
  readonly unmanaged: boolean;
  readonly failure?: string;
  /** Delay until a granted eviction times out. */
  readonly requeueAfterMs?: number;
}

/** Time that a pod may take from its granted eviction to its deletion. */
const deletionTimeoutMs = 120_000;

export function decideDisruption({ budget, pods, scaleOf, now }: Facts): DisruptionDecision {
  const demand = demandOf(budget, pods, scaleOf);
  if (demand.kind === "unknown") return failSafe(budget, demand.why, now);
  const { disruptedPods, notDeleted, requeueAfterMs } = decideDisrupted({ budget, pods, now });
  const currentHealthy = pods.filter(
    (pod) =>
      !pod.metadata.deletionTimestamp &&
      !Object.hasOwn(disruptedPods, pod.metadata.name ?? "") &&
      isReady(pod),
  ).length;
  const { expectedPods, desiredHealthy, unmanaged } = demand;
  // A budget without pods allows no disruptions: pods may be created before the next sync.
  const disruptionsAllowed = expectedPods > 0 ? Math.max(0, currentHealthy - desiredHealthy) : 0;
  const observedGeneration = budget.metadata.generation;
  const enough = disruptionsAllowed > 0;
  const status: BudgetStatus = {
    currentHealthy,
    desiredHealthy,
    expectedPods,
    disruptionsAllowed,
    ...(Object.keys(disruptedPods).length > 0 && { disruptedPods }),
    observedGeneration,
    conditions: withCondition(budget.status?.conditions, {
      type: "DisruptionAllowed",
      status: enough ? "True" : "False",
      reason: enough ? "SufficientPods" : "InsufficientPods",
      message: "",
      observedGeneration,
      lastTransitionTime: formatTime(now),
    }),
  };
  return {
    ...(!isEqual(budget.status, status) && { status }),
    notDeleted,
    unmanaged,
    ...(requeueAfterMs !== undefined && { requeueAfterMs }),
  };
}

type Demand =
  | {
      readonly kind: "known";
      readonly expectedPods: number;
      readonly desiredHealthy: number;
      readonly unmanaged: boolean;
    }
  | { readonly kind: "unknown"; readonly why: string };

function demandOf({ spec }: PodDisruptionBudget, pods: readonly Pod[], scaleOf: Facts["scaleOf"]): Demand {
  const { minAvailable, maxUnavailable } = spec ?? {};
  if (typeof minAvailable === "number" && maxUnavailable === undefined) {
    return { kind: "known", expectedPods: pods.length, desiredHealthy: minAvailable, unmanaged: false };
  }
  if (minAvailable === undefined && maxUnavailable === undefined) {
    return { kind: "known", expectedPods: 0, desiredHealthy: 0, unmanaged: false };
  }
  const scales = new Map<string, number>();
  let unmanaged = false;
  for (const pod of pods) {
    const scale = scaleOf(pod);
    if (!scale) return { kind: "unknown", why: `found no controllers for pod "${pod.metadata.name}"` };
    if (scale === "none") unmanaged = true;
    else scales.set(scale.uid, scale.replicas);
  }
  const expectedPods = [...scales.values()].reduce((total, replicas) => total + replicas, 0);
  const desiredHealthy =
    maxUnavailable !== undefined
      ? Math.max(0, expectedPods - scaledValue(maxUnavailable, expectedPods, "up"))
      : scaledValue(minAvailable, expectedPods, "up");
  return { kind: "known", expectedPods, desiredHealthy, unmanaged };
}

/** Splits pods with a granted eviction into those that may still be deleted and those that timed out. */
function decideDisrupted({ budget, pods, now }: Omit<Facts, "scaleOf">) {
  const disruptedPods: Record<string, string> = {};
  const notDeleted: Pod[] = [];
  let requeueAfterMs: number | undefined;
  for (const pod of pods) {
    const { name = "", deletionTimestamp } = pod.metadata;
    const evictedAt = budget.status?.disruptedPods?.[name];
    if (deletionTimestamp || evictedAt === undefined) continue;
    const leftMs = Date.parse(evictedAt) + deletionTimeoutMs - now;
    if (leftMs > 0) {
      disruptedPods[name] = evictedAt;
      requeueAfterMs = Math.min(requeueAfterMs ?? leftMs, leftMs);
    } else {
      notDeleted.push(pod);
    }
  }
  return { disruptedPods, notDeleted, requeueAfterMs };
}

/** Allows no evictions while the expected number of pods is unknown. */
function failSafe(budget: PodDisruptionBudget, message: string, now: number): DisruptionDecision {
  const before = budget.status ?? {
    currentHealthy: 0,
    desiredHealthy: 0,
    expectedPods: 0,
    disruptionsAllowed: 0,
  };
  const status: BudgetStatus = {
    ...before,
    disruptionsAllowed: 0,
    conditions: withCondition(before.conditions, {
      type: "DisruptionAllowed",
      status: "False",
      reason: "SyncFailed",
      message,
      observedGeneration: before.observedGeneration,
      lastTransitionTime: formatTime(now),
    }),
  };
  return {
    ...(!isEqual(before, status) && { status }),
    notDeleted: [],
    unmanaged: false,
    failure: message,
  };
}

function withCondition(before: Conditions | undefined, condition: Conditions[number]): Conditions {
  const known = before?.find(({ type }) => type === condition.type);
  const { lastTransitionTime } = known?.status === condition.status ? known : condition;
  const next = { ...condition, lastTransitionTime };
  return known && before ? before.map((old) => (old === known ? next : old)) : [...(before ?? []), next];
}

type StaleTarget =
  | { readonly kind: "none" }
  | { readonly kind: "wait"; readonly requeueAfterMs: number }
  | { readonly kind: "clear"; readonly condition: PodCondition };

const staleAfterMs = 120_000;

/**
 * Clears DisruptionTarget of a pod that was not deleted in time. A condition set by the kubelet itself is kept,
 * however long the termination takes.
 */
export function decideStaleTarget(pod: Pod, now: number): StaleTarget {
  const target = conditionOf(pod, "DisruptionTarget");
  const stays = !pod.metadata.deletionTimestamp && !hasEnded(pod);
  if (!stays || target?.status !== "True" || target.reason === "TerminationByKubelet")
    return { kind: "none" };
  const leftMs = Date.parse(target.lastTransitionTime ?? "") + staleAfterMs - now;
  if (leftMs > 0) return { kind: "wait", requeueAfterMs: leftMs };
  const condition = { type: "DisruptionTarget", status: "False", lastTransitionTime: formatTime(now) };
  return { kind: "clear", condition };
}

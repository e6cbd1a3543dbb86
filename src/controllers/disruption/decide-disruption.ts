import { isReady } from "../../api/conditions.ts";
import { formatTime } from "../../api/format-time.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { Pod, PodDisruptionBudget } from "../../api/objects.ts";
import { scaledValue } from "../scaled-value.ts";

type BudgetStatus = NonNullable<PodDisruptionBudget["status"]>;
type Conditions = NonNullable<BudgetStatus["conditions"]>;

/** Who asks for a pod, and for how many of its kind. */
export interface Scale {
  readonly uid: string;
  readonly replicas: number;
}

interface Facts {
  readonly budget: PodDisruptionBudget;
  /** Those that it selects. */
  readonly pods: readonly Pod[];
  /** `none` for a pod that nobody is in charge of, undefined when who is in charge cannot be found. */
  scaleOf(pod: Pod): Scale | "none" | undefined;
  readonly now: number;
}

export interface DisruptionDecision {
  /** Left out when the budget says so already. */
  readonly status?: BudgetStatus;
  /** Evictions that were let through and never came to be: said on the pods. */
  readonly notDeleted: readonly Pod[];
  readonly unmanaged: boolean;
  readonly failure?: string;
  /** When an eviction that was let through counts as not done. */
  readonly againAfterMs?: number;
}

/** How long a pod may take from the eviction that was let through to its deletion. */
const deletionTimeoutMs = 120_000;

export function decideDisruption({ budget, pods, scaleOf, now }: Facts): DisruptionDecision {
  const demand = demandOf(budget, pods, scaleOf);
  if (demand.kind === "unknown") return failSafe(budget, demand.why, now);
  const { disruptedPods, notDeleted, againAfterMs } = decideDisrupted({ budget, pods, now });
  const currentHealthy = pods.filter(
    (pod) =>
      !pod.metadata.deletionTimestamp &&
      !Object.hasOwn(disruptedPods, pod.metadata.name ?? "") &&
      isReady(pod),
  ).length;
  const { expectedPods, desiredHealthy, unmanaged } = demand;
  // A budget that matches no pods allows nothing: its first pods may come before this looks again.
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
    ...(againAfterMs !== undefined && { againAfterMs }),
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

/** Those whose eviction was let through, and who are not seen to go yet. */
function decideDisrupted({ budget, pods, now }: Omit<Facts, "scaleOf">) {
  const disruptedPods: Record<string, string> = {};
  const notDeleted: Pod[] = [];
  let againAfterMs: number | undefined;
  for (const pod of pods) {
    const { name = "", deletionTimestamp } = pod.metadata;
    const evictedAt = budget.status?.disruptedPods?.[name];
    if (deletionTimestamp || evictedAt === undefined) continue;
    const leftMs = Date.parse(evictedAt) + deletionTimeoutMs - now;
    if (leftMs > 0) {
      disruptedPods[name] = evictedAt;
      againAfterMs = Math.min(againAfterMs ?? leftMs, leftMs);
    } else {
      notDeleted.push(pod);
    }
  }
  return { disruptedPods, notDeleted, againAfterMs };
}

/** Nothing may be evicted as long as it is not known what there should be. */
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

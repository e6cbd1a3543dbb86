// Clauses: 3541-13
import type { Namespace, Pod, StatefulSet } from "../api/meta/objects.ts";
import { isAvailable, isTerminating } from "../api/pod/pod-state.ts";
import { hasStartingContainer, podHealth } from "../explain/pod-health.ts";
import {
  parseUnstickPolicy,
  progressDeadlineOf,
  type UnstickPolicy,
  unstickAnnotation,
} from "../explain/rollout-policy.ts";
import { startState } from "../explain/start-state.ts";
import { ordinalOf, revisionOf } from "../explain/stateful-set-pods.ts";

/** A StatefulSet of any cluster, its pods, and what is known about earlier recoveries. */
export interface RecoveryFacts {
  readonly set: StatefulSet;
  /** Pods that the set controls. */
  readonly pods: readonly Pod[];
  /** Policy that applies to the set. Undefined if none is set. */
  readonly policy: UnstickPolicy | undefined;
  readonly now: number;
}

/**
 * What to do about a StatefulSet:
 *
 * - `none`: it is not stuck, or its controller has not caught up
 * - `stuck`: it is stuck and an eviction would not help or is not allowed; `advice` says what to do
 * - `evict`: it is stuck, and its controller would replace the pod from the update revision
 */
export type Recovery =
  | {
      readonly kind: "none";
      readonly because: string;
      /** Whether only a change of the set or its pods can make it stuck, and not the passage of time. */
      readonly isSettled: boolean;
    }
  | {
      readonly kind: "stuck";
      readonly pod: Pod;
      readonly reason: "NoPolicy" | "PolicyNever" | "MayRecover" | "ReturnsInOldRevision";
      readonly because: string;
      readonly advice: string;
    }
  | {
      readonly kind: "evict";
      readonly pod: Pod;
      /** Reason of the failure: CrashLoopBackOff, Unschedulable, … */
      readonly reason: string;
      readonly because: string;
    };

/**
 * Decides whether a StatefulSet is stuck on a broken pod of an older revision, and whether evicting that pod moves it
 * on. Only sets with RollingUpdate get stuck in this way. The pod must be the one that the controller waits for:
 *
 * - OrderedReady: the lowest ordinal that is not available
 * - Parallel: the largest broken one; it blocks a controller that counts unavailable pods (MaxUnavailableStatefulSet)
 */
export function decideRecovery(facts: RecoveryFacts): Recovery {
  const { set, now } = facts;
  const { updateRevision = "", observedGeneration = 0 } = set.status ?? {};
  const { updateStrategy, minReadySeconds = 0 } = set.spec ?? {};
  if (set.metadata.deletionTimestamp) return none("the StatefulSet is being deleted");
  if ((updateStrategy?.type ?? "RollingUpdate") !== "RollingUpdate")
    return none(`the update strategy is ${updateStrategy?.type}, which recover does not act on`);
  if (observedGeneration < (set.metadata.generation ?? 0))
    return none("the StatefulSet's controller has not observed the latest change");

  const pods = membersOf(facts);
  const isUpdated = (pod: Pod) => revisionOf(pod) === updateRevision;
  const isUnavailable = (pod: Pod) => isTerminating(pod) || !isAvailable(pod, minReadySeconds, now);
  const unavailable = pods.filter(isUnavailable);
  if (unavailable.length === 0) return none("all pods are available", { isSettled: true });
  const going = pods.find(isTerminating);
  if (going) return none(`pod ${going.metadata.name} is terminating`);
  const broken = unavailable.filter((pod) => !isUpdated(pod) && isBroken(facts, pod));
  const isParallel = set.spec?.podManagementPolicy === "Parallel";
  const blocking = isParallel ? broken.at(-1) : unavailable[0];
  const { start, replicas } = ordinalsOf(set);
  // OrderedReady creates no pod above the one that it waits for.
  const created = isParallel || !blocking ? replicas : ordinalOf(blocking) - start;
  const existing = pods.filter((pod) => ordinalOf(pod) < start + created);
  if (existing.length < created)
    return none(`${pods.length} of ${replicas} pods exist; the controller creates the others`);
  if (!blocking || !broken.includes(blocking)) {
    const names = unavailable.map(({ metadata }) => metadata.name).join(", ");
    return none(`no broken pod of an older revision is in the way; not available: ${names}`);
  }
  const name = blocking.metadata.name ?? "";
  const ordinal = ordinalOf(blocking);
  const failed = unavailable.find((pod) => ordinalOf(pod) > ordinal && isUpdated(pod));
  if (failed)
    return none(
      `pod ${failed.metadata.name} is not available in the update revision, so the update itself does not work`,
    );
  const partition = updateStrategy?.rollingUpdate?.partition ?? 0;
  if (ordinal < start + partition)
    return none(`pod ${name} is below the partition ${partition} of the update`);

  const { reason, message } = podHealth(blocking, { minReadySeconds, now });
  const because = `pod ${name} of an older revision blocks the rollout: ${message}`;
  const stuck = (why: Extract<Recovery, { kind: "stuck" }>["reason"], advice: string): Recovery => ({
    kind: "stuck",
    pod: blocking,
    reason: why,
    because,
    advice,
  });
  // Without rollingUpdate in the spec, upstream's controller recreates ordinals below status.currentReplicas from the
  // current revision.
  if (!updateStrategy?.rollingUpdate && ordinal < start + (set.status?.currentReplicas ?? 0))
    return stuck(
      "ReturnsInOldRevision",
      `the controller would create ${name} from the current revision again, because spec.updateStrategy.rollingUpdate is not set: add rollingUpdate: {partition: 0}`,
    );
  switch (facts.policy) {
    case undefined:
      return stuck(
        "NoPolicy",
        "no policy allows recover to act: annotate the StatefulSet with kindling.dev/unstick=always, or run kindling recover on it",
      );
    case "never":
      return stuck(
        "PolicyNever",
        "its policy is never: delete the pod yourself, or change kindling.dev/unstick",
      );
    case "permanent-only":
      if (!isPermanent(facts, blocking))
        return stuck("MayRecover", "the failure may resolve, and the policy is permanent-only");
      return { kind: "evict", pod: blocking, reason, because };
    case "always":
      return { kind: "evict", pod: blocking, reason, because };
  }
}

function none(because: string, { isSettled = false } = {}): Recovery {
  return { kind: "none", because, isSettled };
}

/** Pods of the set's ordinals, in ascending order. */
function membersOf({ set, pods }: RecoveryFacts): readonly Pod[] {
  const { start, replicas } = ordinalsOf(set);
  return pods
    .filter((pod) => ordinalOf(pod) >= start && ordinalOf(pod) < start + replicas)
    .toSorted((a, b) => ordinalOf(a) - ordinalOf(b));
}

/** Whether something has failed or the pod has used up its time to start. */
function isBroken({ set, now }: RecoveryFacts, pod: Pod): boolean {
  const { minReadySeconds = 0 } = set.spec ?? {};
  const { kind } = startState(pod, { minReadySeconds, now, ...progressDeadlineOf(set) });
  return kind === "broken" || kind === "overdue";
}

function isPermanent({ set, now }: RecoveryFacts, pod: Pod): boolean {
  const { minReadySeconds = 0 } = set.spec ?? {};
  return podHealth(pod, { minReadySeconds, now }).kind === "permanent" && !hasStartingContainer(pod);
}

function ordinalsOf({ spec }: StatefulSet): { readonly start: number; readonly replicas: number } {
  return { start: spec?.ordinals?.start ?? 0, replicas: spec?.replicas ?? 1 };
}

/** Policy of a set, and where it comes from. */
export interface SetPolicy {
  /** Undefined if no policy is set anywhere. */
  readonly policy: UnstickPolicy | undefined;
  /** Problem of an annotation or label with an unknown value, which counts as `never`. */
  readonly invalid?: string;
}

/** Finds the policy: the annotation of the set, else the label of its namespace, else the fallback of the command line. */
export function policyOf(
  { metadata }: Pick<StatefulSet, "metadata">,
  namespace: Pick<Namespace, "metadata"> | undefined,
  fallback: UnstickPolicy | undefined,
): SetPolicy {
  const annotation = metadata.annotations?.[unstickAnnotation];
  const label = namespace?.metadata.labels?.[unstickAnnotation];
  const value = annotation ?? label;
  if (value === undefined) return { policy: fallback };
  const source = annotation === undefined ? `label of namespace ${metadata.namespace}` : "annotation";
  const { policy, invalid } = parseUnstickPolicy(value, source);
  return { policy, ...(invalid && { invalid: invalid.message }) };
}

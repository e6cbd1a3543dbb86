// Clauses: 3541-7, 3541-10, 3541-11

import type { Pod, StatefulSet } from "../../api/meta/objects.ts";
import { isAvailable, isTerminating } from "../../api/pod/pod-state.ts";
import { hasStartingContainer, type PodHealth, podHealth } from "../../explain/pod-health.ts";
import { progressDeadlineOf, unstickPolicyOf } from "../../explain/rollout-policy.ts";
import { type StartState, startState } from "../../explain/start-state.ts";
import { scaledValue } from "../../lib/scaled-value.ts";
import { newPod, ordinalOf, ordinalsOf, type Revision, revisionOf } from "./pod-identity.ts";
import type { StatefulSetFacts } from "./stateful-set-facts.ts";
import { decideUpdateRecord, isReached, type UpdateRecord } from "./update-record.ts";

/** Facts prepared for the decisions. */
export interface Rollout {
  readonly facts: StatefulSetFacts;
  /** Pods by ascending ordinal. A missing pod is represented by the pod that would be created. */
  readonly replicas: readonly Pod[];
  /** Pods that the set should no longer have, largest ordinal first. */
  readonly condemned: readonly Pod[];
  /** The strategy, or RollingUpdate for an EnforcedRollingUpdate that must not replace unavailable pods. */
  readonly strategy: string;
  /** Whether pods are created and deleted in parallel. */
  readonly burst: boolean;
  readonly permanentOnly: boolean;
  /** Pods at this index and above get the update revision. */
  readonly partition: number;
  readonly maxUnavailable: number;
  readonly progressDeadlineMs: number;
  /** Progress of the update, for EnforcedRollingUpdate. */
  readonly record?: UpdateRecord;
  isUnavailable(pod: Pod): boolean;
  /** Whether the pod does not run the update revision. */
  isOld(pod: Pod): boolean;
  startState(pod: Pod): StartState;
  healthOf(pod: Pod): PodHealth;
  /** Whether an unavailable pod fails permanently, with no container that is still pulling or starting. */
  cannotRecover(pod: Pod): boolean;
}

export function rolloutOf(facts: StatefulSetFacts): Rollout {
  const { set, pods, update, now } = facts;
  const { minReadySeconds = 0, updateStrategy = {} } = set.spec ?? {};
  const { first, last } = ordinalsOf(set);
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
  const { type = "RollingUpdate" } = updateStrategy;
  const { policy } = unstickPolicyOf(set);
  const strategy = type === "EnforcedRollingUpdate" && policy === "never" ? "RollingUpdate" : type;
  const { progressDeadlineMs } = progressDeadlineOf(set);
  const maxUnavailable = maxUnavailableOf(set);
  const record = type === "EnforcedRollingUpdate" ? decideUpdateRecord(facts) : undefined;
  const isUnavailable = (pod: Pod) => isTerminating(pod) || !isAvailable(pod, minReadySeconds, now);
  const isOld = (pod: Pod) => revisionOf(pod) !== update.name;
  const replicas: Pod[] = [];
  let lackingAbove = 0;
  for (let ordinal = last; ordinal >= first; ordinal--) {
    const mayUpdate = lackingAbove < maxUnavailable;
    const revision = () =>
      record ? enforcedRevision(facts, record, { ordinal, mayUpdate }) : revisionFor(facts, ordinal);
    const pod = byOrdinal.get(ordinal) ?? newPod(set, revision(), ordinal);
    if (isOld(pod) || isUnavailable(pod)) lackingAbove++;
    replicas.push(pod);
  }
  return {
    facts,
    replicas: replicas.reverse(),
    condemned: [...byOrdinal]
      .filter(([ordinal]) => ordinal < first || ordinal > last)
      .sort(([a], [b]) => b - a)
      .map(([, pod]) => pod),
    strategy,
    burst: isParallel(set),
    permanentOnly: policy === "permanent-only",
    partition: partitionOf(set),
    maxUnavailable,
    progressDeadlineMs,
    record,
    isUnavailable,
    isOld,
    startState: (pod) => startState(pod, { minReadySeconds, progressDeadlineMs, now }),
    healthOf: (pod) => podHealth(pod, { minReadySeconds, now }),
    cannotRecover: (pod) =>
      podHealth(pod, { minReadySeconds, now }).kind === "permanent" && !hasStartingContainer(pod),
  };
}

/** Resolved maxUnavailable: a percentage is rounded down, and the result is at least 1. */
export function maxUnavailableOf({ spec }: StatefulSet): number {
  const { replicas = 1, updateStrategy } = spec ?? {};
  const value = updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
  return Math.max(1, scaledValue(value, replicas, "down"));
}

function isParallel({ spec }: StatefulSet): boolean {
  return spec?.podManagementPolicy === "Parallel";
}

function partitionOf({ spec }: StatefulSet): number {
  return spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
}

/** Revision of a pod that is created now, for every strategy except EnforcedRollingUpdate. */
function revisionFor({ set, current, update }: StatefulSetFacts, ordinal: number): Revision {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {};
  const place = ordinal - ordinalsOf(set).first;
  // Ignores rollingUpdate: a pod of another revision would be deleted at once.
  if (type === "Recreate") return update;
  if (rollingUpdate) return place < (rollingUpdate.partition ?? 0) ? current : update;
  // With Parallel, pods are not updated in order: a replaced pod must not return in the current revision.
  const inOrder = type === "RollingUpdate" && !isParallel(set);
  return inOrder && place < (set.status?.currentReplicas ?? 0) ? current : update;
}

/**
 * A lost pod returns in the update revision only where the update has come so far, or where the update may replace a
 * pod now (`mayUpdate`): fewer than maxUnavailable of the larger ordinals lack the update revision or are unavailable.
 * Otherwise an update that does not work would spread with every lost pod.
 */
function enforcedRevision(
  { set, current, update }: StatefulSetFacts,
  record: UpdateRecord,
  { ordinal, mayUpdate }: { readonly ordinal: number; readonly mayUpdate: boolean },
): Revision {
  if (ordinal < ordinalsOf(set).first + partitionOf(set)) return current;
  return mayUpdate || isReached(record, ordinal) ? update : current;
}

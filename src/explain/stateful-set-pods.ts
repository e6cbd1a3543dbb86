import { isReady } from "../api/meta/object-facts.ts";
import type { Pod, StatefulSet } from "../api/meta/objects.ts";
import { isTerminating } from "../api/pod/pod-state.ts";

export function isParallel({ spec }: StatefulSet): boolean {
  return spec?.podManagementPolicy === "Parallel";
}

export function partitionOf({ spec }: StatefulSet): number {
  return spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
}

export function startOf({ spec }: StatefulSet): number {
  return spec?.ordinals?.start ?? 0;
}

/** Position of a pod in its set, from 0. */
export function indexOf(set: StatefulSet, pod: Pod): number {
  return ordinalOf(pod) - startOf(set);
}

/** Whether the set has a pod of this ordinal, so that a deleted one is created again. */
export function isWanted(set: StatefulSet, pod: Pod): boolean {
  const index = indexOf(set, pod);
  return index >= 0 && index < (set.spec?.replicas ?? 1);
}

/**
 * Finds the pod that a rollout waits for: the lowest ordinal that is not ready, preferably of the update revision. A
 * terminating pod counts only if no other is in the way.
 */
export function findBlockingPod(pods: readonly Pod[], updateRevision: string | undefined): Pod | undefined {
  const byOrdinal = pods.toSorted((a, b) => ordinalOf(a) - ordinalOf(b));
  const unready = byOrdinal.filter((pod) => !isReady(pod) && !isTerminating(pod));
  return (
    unready.find((pod) => revisionOf(pod) === updateRevision) ?? unready[0] ?? byOrdinal.find(isTerminating)
  );
}

export function revisionOf({ metadata }: Pod): string | undefined {
  return metadata.labels?.["controller-revision-hash"];
}

export function ordinalOf({ metadata }: Pod): number {
  return Number(/-(\d+)$/.exec(metadata.name ?? "")?.[1] ?? 0);
}

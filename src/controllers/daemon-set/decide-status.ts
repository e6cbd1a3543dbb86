import { isEqual } from "../../api/meta/is-equal.ts";
import { isReady } from "../../api/meta/object-facts.ts";
import type { DaemonSet } from "../../api/meta/objects.ts";
import { availableInMs } from "../../api/pod/pod-state.ts";
import { isUpdated } from "./daemon-pod.ts";
import type { DaemonSetFacts } from "./daemon-set-facts.ts";

export type DaemonSetStatus = NonNullable<DaemonSet["status"]>;

export interface StatusDecision {
  /** Undefined if the status is current. */
  readonly status?: DaemonSetStatus;
  /** Time after which a ready pod becomes available. */
  readonly requeueAfterMs?: number;
}

/** Counts nodes by the state of their oldest pod. `isSynced`: the sync has acted on this generation of the set. */
export function decideStatus(
  { set, hash, nodes, now }: DaemonSetFacts,
  { isSynced, collisionCount }: { readonly isSynced: boolean; readonly collisionCount: number | undefined },
): StatusDecision {
  const counts = {
    currentNumberScheduled: 0,
    desiredNumberScheduled: 0,
    numberMisscheduled: 0,
    numberReady: 0,
    updatedNumberScheduled: 0,
    numberAvailable: 0,
  };
  const waits: number[] = [];
  for (const { placement, pods } of nodes) {
    const [pod] = pods;
    if (placement !== "run") {
      if (pod) counts.numberMisscheduled++;
      continue;
    }
    counts.desiredNumberScheduled++;
    if (!pod) continue;
    counts.currentNumberScheduled++;
    if (isUpdated(pod, set, hash)) counts.updatedNumberScheduled++;
    if (!isReady(pod)) continue;
    counts.numberReady++;
    const waitMs = availableInMs(pod, set.spec?.minReadySeconds ?? 0, now);
    if (waitMs === 0) counts.numberAvailable++;
    else if (waitMs !== undefined) waits.push(waitMs);
  }
  const before = set.status;
  const observedGeneration = isSynced ? set.metadata.generation : before?.observedGeneration;
  const numberUnavailable = counts.desiredNumberScheduled - counts.numberAvailable;
  const status = {
    ...before,
    ...counts,
    numberUnavailable,
    ...(observedGeneration !== undefined && { observedGeneration }),
    ...(collisionCount !== undefined && { collisionCount }),
  };
  const isCurrent = isEqual(withoutZeros(status), withoutZeros(before ?? {}));
  return {
    ...(!isCurrent && { status }),
    ...(waits.length > 0 && { requeueAfterMs: Math.min(...waits) }),
  };
}

/** The API server does not store zeros of optional counts. */
function withoutZeros(status: object): object {
  return Object.fromEntries(Object.entries(status).filter(([, value]) => value !== 0));
}

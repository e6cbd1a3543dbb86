import { formatTime } from "../../api/format-time.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { Pod, ReplicaSet } from "../../api/objects.ts";
import { availableInMs } from "../pod-state.ts";

type ReplicaSetStatus = NonNullable<ReplicaSet["status"]>;
type Conditions = NonNullable<ReplicaSetStatus["conditions"]>;

interface Facts {
  readonly set: ReplicaSet;
  readonly active: readonly Pod[];
  readonly terminating: readonly Pod[];
  /** Why pods could not be created or deleted. */
  readonly failure?: string;
  readonly now: number;
}

interface Decision {
  /** Left out when the set says so already. */
  readonly status?: ReplicaSetStatus;
  /** When the next pod is available by itself. */
  readonly againAfterMs?: number;
}

export function decideStatus({ set, active, terminating, failure, now }: Facts): Decision {
  const minReadySeconds = set.spec?.minReadySeconds ?? 0;
  const waits = active
    .map((pod) => availableInMs(pod, minReadySeconds, now))
    .filter((wait) => wait !== undefined);
  const pending = waits.filter((wait) => wait > 0);
  // A count of none is left out, as upstream does.
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
    ...(pending.length > 0 && { againAfterMs: Math.min(...pending) }),
  };
}

function isFullyLabeled({ spec }: ReplicaSet, { metadata }: Pod): boolean {
  const labels = Object.entries(spec?.template?.metadata?.labels ?? {});
  return labels.every(([key, value]) => metadata.labels?.[key] === value);
}

function conditionsAfter({ set, active, failure, now }: Omit<Facts, "terminating">): Conditions {
  const before = set.status?.conditions ?? [];
  const others = before.filter(({ type }) => type !== "ReplicaFailure");
  if (failure === undefined) return others;
  // The first failure tells when it began.
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

import type { Pod, StatefulSet } from "../../api/objects.ts";
import { isAvailable, isTerminating } from "../pod-state.ts";
import { newPod, ordinalOf, ordinalsOf, revisionOf } from "./pod-identity.ts";
import type { StatefulSetFacts } from "./stateful-set-facts.ts";
import { type Holdup, isUnderWay, whyUnavailable } from "./why-unavailable.ts";

/** `permanent-only`: EnforcedRollingUpdate replaces unhealthy pods only when they cannot heal by themselves. */
const unstickAnnotation = "kindling.dev/unstick";

/** The facts in the order in which decisions look at them. */
export interface Rollout {
  readonly facts: StatefulSetFacts;
  /** From the first ordinal to the last one; a pod that is missing is there as it would be created. */
  readonly replicas: readonly Pod[];
  /** Those that the set should not have any more, the largest ordinal first. */
  readonly condemned: readonly Pod[];
  readonly strategy: string;
  /** Pods are created and deleted without regard to the others. */
  readonly burst: boolean;
  readonly permanentOnly: boolean;
  /** Pods at this place and above are to run the update revision. */
  readonly partition: number;
  isUnavailable(pod: Pod): boolean;
  /** It runs something else than the update revision. */
  isOld(pod: Pod): boolean;
  whyUnavailable(pod: Pod): Holdup;
  /** Of an unavailable one: nothing that it still does can help it. */
  cannotHeal(pod: Pod): boolean;
}

export function rolloutOf(facts: StatefulSetFacts): Rollout {
  const { set, pods, update, now } = facts;
  const { minReadySeconds = 0, updateStrategy = {} } = set.spec ?? {};
  const { first, last } = ordinalsOf(set);
  const byOrdinal = new Map(pods.map((pod) => [ordinalOf(pod), pod]));
  const replicas: Pod[] = [];
  for (let ordinal = first; ordinal <= last; ordinal++) {
    replicas.push(byOrdinal.get(ordinal) ?? newPod(set, revisionFor(facts, ordinal), ordinal));
  }
  return {
    facts,
    replicas,
    condemned: [...byOrdinal]
      .filter(([ordinal]) => ordinal < first || ordinal > last)
      .sort(([a], [b]) => b - a)
      .map(([, pod]) => pod),
    strategy: updateStrategy.type ?? "RollingUpdate",
    burst: isParallel(set),
    permanentOnly: set.metadata.annotations?.[unstickAnnotation] === "permanent-only",
    partition: updateStrategy.rollingUpdate?.partition ?? 0,
    isUnavailable: (pod) => isTerminating(pod) || !isAvailable(pod, minReadySeconds, now),
    isOld: (pod) => revisionOf(pod) !== update.name,
    whyUnavailable: (pod) => whyUnavailable(pod, minReadySeconds, now),
    cannotHeal: (pod) => whyUnavailable(pod, minReadySeconds, now).kind === "permanent" && !isUnderWay(pod),
  };
}

function isParallel({ spec }: StatefulSet): boolean {
  return spec?.podManagementPolicy === "Parallel";
}

/** What a pod that is created now is made from. */
function revisionFor({ set, current, update }: StatefulSetFacts, ordinal: number) {
  const { type, rollingUpdate } = set.spec?.updateStrategy ?? {};
  const place = ordinal - ordinalsOf(set).first;
  // Whatever else is written there: a pod of another revision would be deleted at once.
  if (type === "Recreate") return update;
  if (rollingUpdate) return place < (rollingUpdate.partition ?? 0) ? current : update;
  // Side by side pods are not updated in order: one that was replaced must not come back as it was.
  const inOrder = type === "RollingUpdate" && !isParallel(set);
  return inOrder && place < (set.status?.currentReplicas ?? 0) ? current : update;
}

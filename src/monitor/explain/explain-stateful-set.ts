import { conditionOf, isReady } from "../../api/conditions.ts";
import type { Pod, StatefulSet } from "../../api/objects.ts";
import { inCommands } from "./explanation.ts";
import { chooseHoldUp, ordinalOf, revisionOf } from "./find-hold-up.ts";

/** Where a StatefulSet is with its pods, and which of them is waited for. */
export interface SetExplanation {
  readonly replicas: number;
  readonly ready: number;
  /** Pods of the newest revision. */
  readonly updated: number;
  readonly strategy: string;
  /** One sentence. */
  readonly because: string;
  readonly healsByItself: boolean;
  /** What to do about the set; what to do about the pod is the pod's own explanation. */
  readonly fix: string | undefined;
  /** The pod that holds it up, by name. */
  readonly holdUp: string | undefined;
}

/** `pods`: the set's own. */
export function explainStatefulSet(set: StatefulSet, pods: readonly Pod[]): SetExplanation {
  const { updateRevision } = set.status ?? {};
  const replicas = set.spec?.replicas ?? 1;
  const strategy = set.spec?.updateStrategy?.type ?? "RollingUpdate";
  const holdUp = chooseHoldUp(pods, updateRevision);
  const counts = {
    replicas,
    ready: pods.filter(isReady).length,
    updated: pods.filter((pod) => revisionOf(pod) === updateRevision).length,
    strategy,
    holdUp: holdUp?.metadata.name,
  };
  if (!holdUp) return { ...counts, ...withoutHoldUp(set, { pods, ...counts }) };
  const name = holdUp.metadata.name ?? "";
  if (revisionOf(holdUp) === updateRevision || strategy === "EnforcedRollingUpdate") {
    return { ...counts, because: `It waits for pod ${name}.`, healsByItself: true, fix: undefined };
  }
  const isParallel = strategy === "RollingUpdate" && set.spec?.podManagementPolicy === "Parallel";
  if (isParallel || strategy === "Recreate") {
    return {
      ...counts,
      because: `Pod ${name} is not ready and is about to be replaced.`,
      healsByItself: true,
      fix: undefined,
    };
  }
  return {
    ...counts,
    because: `Pod ${name} is not ready and of an older revision than the template; ${strategy} does not replace it.`,
    healsByItself: false,
    fix: `${deletePod(holdUp)} replaces it by hand; under Kindling this strategy does so for all: ${patch(set, enforced)}`,
  };
}

function withoutHoldUp(
  set: StatefulSet,
  {
    pods,
    replicas,
    updated,
    strategy,
  }: Pick<SetExplanation, "replicas" | "updated" | "strategy"> & { pods: readonly Pod[] },
): Pick<SetExplanation, "because" | "healsByItself" | "fix"> {
  const said = conditionOf(set, "Progressing")?.message;
  if (pods.length < replicas) {
    const because = `${pods.length} of ${replicas} pods exist${said ? `: ${said}` : ""}.`;
    const fix = `see why no more are made: kubectl describe statefulset ${inCommands(set)}`;
    return { because, healsByItself: true, fix };
  }
  if (updated >= replicas)
    return { because: "All of its pods are ready.", healsByItself: true, fix: undefined };
  const words = `${replicas - updated} of ${replicas} pods are ready and of an older revision`;
  const old = pods.filter((pod) => revisionOf(pod) !== set.status?.updateRevision);
  if (strategy === "OnDelete") {
    const because = `${words}; OnDelete replaces a pod when it is deleted.`;
    return { because, healsByItself: false, fix: old[0] && deletePod(old[0]) };
  }
  const partition = set.spec?.updateStrategy?.rollingUpdate?.partition ?? 0;
  if (old.every((pod) => ordinalOf(pod) < partition)) {
    const because = `Ordinals below ${partition} keep their revision: spec.updateStrategy.rollingUpdate.partition is ${partition}.`;
    return { because, healsByItself: false, fix: `to replace them too: ${patch(set, lowered)}` };
  }
  return { because: `${words}; they are replaced one by one.`, healsByItself: true, fix: undefined };
}

const enforced = { type: "EnforcedRollingUpdate" };
const lowered = { rollingUpdate: { partition: 0 } };

function deletePod(pod: Pod): string {
  return `kubectl delete pod ${inCommands(pod)}`;
}

function patch(set: StatefulSet, updateStrategy: object): string {
  const body = JSON.stringify({ spec: { updateStrategy } });
  return `kubectl patch statefulset ${inCommands(set)} -p '${body}'`;
}

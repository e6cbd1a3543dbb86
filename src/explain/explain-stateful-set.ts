import { conditionOf, isReady } from "../api/meta/object-facts.ts";
import type { Event, Pod, StatefulSet } from "../api/meta/objects.ts";
import { isTerminating } from "../api/pod/pod-state.ts";
import { humanDuration } from "../lib/human-duration.ts";
import { scaledValue } from "../lib/scaled-value.ts";
import { inCommands } from "./commands.ts";
import type { WorkloadExplanation } from "./explanation.ts";
import { joinFixes, lastEvent, sentence } from "./explanation.ts";
import { podHealth } from "./pod-health.ts";
import { unstickAnnotation, unstickPolicyOf } from "./rollout-policy.ts";
import {
  findBlockingPod,
  indexOf,
  isParallel,
  isWanted,
  ordinalOf,
  partitionOf,
  revisionOf,
  startOf,
} from "./stateful-set-pods.ts";

type Verdict = Pick<WorkloadExplanation, "because" | "isTransient" | "fix">;

/** What is known about the API server and the controllers of the cluster. */
export interface Platform {
  /** Whether the API server is Kindling's. Undefined if unknown. */
  readonly isKindling?: boolean;
  /** Whether the API server accepts EnforcedRollingUpdate for this set. Undefined if unknown. */
  readonly acceptsEnforced?: boolean;
}

export interface StatefulSetFacts {
  readonly set: StatefulSet;
  /** Pods that the set controls. */
  readonly pods: readonly Pod[];
  /** Events of the set, in any order. */
  readonly events?: readonly Event[];
  readonly platform?: Platform;
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Facts with what several explanations derive from them. */
interface Situation extends StatefulSetFacts {
  readonly platform: Platform;
  readonly replicas: number;
  readonly updated: number;
  readonly strategy: string;
}

/** Explains a StatefulSet and the pods that it controls. */
export function explainStatefulSet(facts: StatefulSetFacts): WorkloadExplanation {
  const { set, pods } = facts;
  const { updateRevision } = set.status ?? {};
  const replicas = set.spec?.replicas ?? 1;
  const strategy = set.spec?.updateStrategy?.type ?? "RollingUpdate";
  const updated = pods.filter((pod) => revisionOf(pod) === updateRevision).length;
  const blocking = findBlockingPod(pods, updateRevision);
  const situation: Situation = { ...facts, platform: facts.platform ?? {}, replicas, updated, strategy };
  return {
    replicas,
    ready: pods.filter(isReady).length,
    updated,
    strategy,
    blockingPod: blocking?.metadata.name,
    ...withTerminating(situation, blocking, explain(situation, blocking)),
  };
}

function explain(situation: Situation, blocking: Pod | undefined): Verdict {
  return (
    explainDeletion(situation) ??
    explainUnsupported(situation) ??
    (blocking ? explainBlocked(situation, blocking) : explainUnblocked(situation))
  );
}

function explainDeletion({ set }: Situation): Verdict | undefined {
  const { deletionTimestamp, finalizers = [] } = set.metadata;
  if (!deletionTimestamp) return undefined;
  const held = finalizers.length > 0 ? `; its finalizers block the deletion: ${finalizers.join(", ")}` : "";
  return {
    because: `The StatefulSet is being deleted${held}. Its pods are not replaced any more.`,
    isTransient: true,
    fix: undefined,
  };
}

/** Explains a set whose strategy the controller does not support, usually because of a feature gate. */
function explainUnsupported({ set }: Situation): Verdict | undefined {
  const progressing = conditionOf(set, "Progressing");
  if (progressing?.reason !== "UnknownStrategy") return undefined;
  const [, gate] = /feature gate (\S+) is disabled/.exec(progressing.message ?? "") ?? [];
  return {
    because: `The controller does not change the pods of this set: ${sentence(progressing.message ?? "its strategy is unknown")}`,
    isTransient: false,
    fix: joinFixes([
      gate &&
        `enable the gate: start the API server and the controller manager with --feature-gates=${gate}=true`,
      `use a strategy that needs no gate: ${patch(set, { type: "RollingUpdate" })}`,
    ]),
  };
}

function explainBlocked(situation: Situation, pod: Pod): Verdict {
  const { set, strategy } = situation;
  const name = pod.metadata.name ?? "";
  if (isTerminating(pod)) return explainTerminating(situation, pod);
  if (!isWanted(set, pod)) {
    const because = `Pod ${name} is beyond the replicas of the set and is removed when the pods below it are ready.`;
    return { because, isTransient: true, fix: undefined };
  }
  if (revisionOf(pod) === set.status?.updateRevision) {
    return { because: `The rollout waits for pod ${name}.`, isTransient: true, fix: undefined };
  }
  const partition = partitionOf(set);
  if (strategy !== "Recreate" && indexOf(set, pod) < partition) {
    return {
      because: `Pod ${name} is not ready, and the update does not reach it: spec.updateStrategy.rollingUpdate.partition is ${partition}.`,
      isTransient: true,
      fix: `to replace it with the current template: ${patch(set, lowered)}`,
    };
  }
  switch (strategy) {
    case "EnforcedRollingUpdate":
      return explainEnforced(situation, pod);
    case "Recreate":
      return aboutToBeReplaced(name);
    case "OnDelete":
      return {
        because: `Pod ${name} is not ready and of an older revision than the template; OnDelete replaces a pod when it is deleted.`,
        isTransient: false,
        fix: `replace it: ${deletePod(pod)}`,
      };
    default:
      return isParallel(set) ? explainParallel(situation, pod) : explainOrdered(situation, pod);
  }
}

function aboutToBeReplaced(name: string): Verdict {
  return {
    because: `Pod ${name} is not ready and is about to be replaced.`,
    isTransient: true,
    fix: undefined,
  };
}

/** RollingUpdate with OrderedReady waits for the pod under every version of Kubernetes. */
function explainOrdered(situation: Situation, pod: Pod): Verdict {
  const { set } = situation;
  const { name } = pod.metadata;
  const maxUnavailable = set.spec?.updateStrategy?.rollingUpdate?.maxUnavailable ?? 1;
  const allowed = maxUnavailable === 1 ? "" : ` A maxUnavailable of ${maxUnavailable} does not change that.`;
  return {
    because: `Pod ${name} is not ready and of an older revision than the template; RollingUpdate does not replace it. The template has changed since the pod was created, so only the old pod is in the way.${allowed}`,
    isTransient: false,
    fix: replacements(situation, pod),
  };
}

/** Kindling replaces the pod. Upstream does, too, unless its gate MaxUnavailableStatefulSet is on. */
function explainParallel(situation: Situation, pod: Pod): Verdict {
  const { set, pods, replicas, platform } = situation;
  const { name = "" } = pod.metadata;
  // Upstream's API server sets a default of maxUnavailable only with the gate on.
  const value = set.spec?.updateStrategy?.rollingUpdate?.maxUnavailable;
  if (platform.isKindling || value === undefined) return aboutToBeReplaced(name);
  const old = `Pod ${name} is not ready and of an older revision than the template`;
  const maxUnavailable = Math.max(1, scaledValue(value, replicas, "down"));
  const unavailable = pods.filter((each) => isWanted(set, each) && !isReady(each)).length;
  const gate = "the feature gate MaxUnavailableStatefulSet is on";
  if (unavailable < maxUnavailable) {
    const because = `${old}. Because ${gate}, the controller of Kubernetes replaces pods while fewer than ${maxUnavailable} are unavailable, the largest ordinal first.`;
    return { because, isTransient: true, fix: undefined };
  }
  return {
    because: `${old}. Because ${gate}, the controller of Kubernetes does not replace it: ${unavailable === 1 ? "1 pod is" : `${unavailable} pods are`} unavailable and maxUnavailable is ${maxUnavailable}. The template has changed since the pod was created, so only the old pod is in the way.`,
    isTransient: false,
    fix: replacements(situation, pod),
  };
}

/** EnforcedRollingUpdate replaces the pod, unless the annotation of the set keeps it. */
function explainEnforced(situation: Situation, pod: Pod): Verdict {
  const { set, now } = situation;
  const { name = "" } = pod.metadata;
  const { policy, invalid } = unstickPolicyOf(set);
  const isPermanent = podHealth(pod, { now }).kind === "permanent";
  if (policy === "always" || (policy === "permanent-only" && isPermanent)) return aboutToBeReplaced(name);
  if (policy === "never" && isParallel(set)) return aboutToBeReplaced(name);
  const value = set.metadata.annotations?.[unstickAnnotation];
  const why = invalid
    ? `the annotation ${unstickAnnotation} has the unknown value ${JSON.stringify(value)}, which is treated as never`
    : policy === "never"
      ? `the annotation ${unstickAnnotation}: never keeps it`
      : `the annotation ${unstickAnnotation}: permanent-only keeps it, because it may recover`;
  return {
    because: `Pod ${name} is not ready and of an older revision than the template; ${why}.`,
    isTransient: policy === "permanent-only",
    fix: joinFixes([
      `replace it: ${deletePod(pod)}`,
      `let the update replace all such pods: kubectl annotate statefulset ${inCommands(set)} ${unstickAnnotation}=always --overwrite`,
    ]),
  };
}

/** Ways to replace a pod that the update waits for. Strategies that the API server refuses are not proposed. */
function replacements({ set, platform }: Situation, pod: Pod): string | undefined {
  return joinFixes([
    `replace it: ${deletePod(pod)}`,
    platform.acceptsEnforced ? `let the update replace all such pods: ${patch(set, enforced)}` : undefined,
  ]);
}

function explainTerminating({ now }: Situation, pod: Pod): Verdict {
  return {
    because: `The set waits for pod ${pod.metadata.name}, which has been terminating for ${terminatingFor(pod, now)}.`,
    isTransient: !isStuck(pod, now),
    fix: undefined,
  };
}

/** Adds pods that are stuck terminating, of which the set waits for all. */
function withTerminating({ pods, now }: Situation, blocking: Pod | undefined, verdict: Verdict): Verdict {
  const stuck = pods.filter((pod) => pod !== blocking && isStuck(pod, now));
  const [first] = stuck.toSorted((a, b) => ordinalOf(b) - ordinalOf(a));
  if (!first) return verdict;
  const { name } = first.metadata;
  return {
    because: `${verdict.because} The set also waits for pod ${name}, which has been terminating for ${terminatingFor(first, now)}.`,
    isTransient: false,
    fix: joinFixes([verdict.fix, `find out why it still exists: kindling why ${inCommands(first)}`]),
  };
}

/** Time after the grace period from which a terminating pod counts as stuck. */
const stuckMs = 60_000;

function isStuck({ metadata }: Pod, now: number): boolean {
  return metadata.deletionTimestamp !== undefined && now > Date.parse(metadata.deletionTimestamp) + stuckMs;
}

function terminatingFor({ metadata }: Pod, now: number): string {
  const { deletionTimestamp = "", deletionGracePeriodSeconds = 0 } = metadata;
  return humanDuration(Math.max(0, now - Date.parse(deletionTimestamp) + 1_000 * deletionGracePeriodSeconds));
}

function explainUnblocked({ set, pods, events = [], replicas, updated, strategy }: Situation): Verdict {
  if (pods.length < replicas) {
    const said =
      lastEvent({ events }, "FailedCreate")?.message ?? conditionOf(set, "Progressing")?.message ?? "";
    const because = sentence(`${pods.length} of ${replicas} pods exist${said ? `: ${said}` : ""}`);
    const fix = `see why no more are created: kubectl describe statefulset ${inCommands(set)}`;
    return { because, isTransient: true, fix };
  }
  if (updated >= replicas) return { because: "All pods are ready.", isTransient: true, fix: undefined };
  const words = `${replicas - updated} of ${replicas} pods are ready and of an older revision`;
  const old = pods.filter((pod) => revisionOf(pod) !== set.status?.updateRevision);
  if (strategy === "OnDelete") {
    const because = `${words}; OnDelete replaces a pod when it is deleted.`;
    return { because, isTransient: false, fix: old[0] && `replace the first one: ${deletePod(old[0])}` };
  }
  const partition = partitionOf(set);
  if (old.every((pod) => indexOf(set, pod) < partition)) {
    const because = `Ordinals below ${partition + startOf(set)} keep their revision: spec.updateStrategy.rollingUpdate.partition is ${partition}.`;
    return { because, isTransient: false, fix: `to replace them too: ${patch(set, lowered)}` };
  }
  return { because: `${words}; they are replaced one by one.`, isTransient: true, fix: undefined };
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

import type { DaemonSet, Event, Pod } from "../api/meta/objects.ts";
import { isTerminating } from "../api/pod/pod-state.ts";
import { inCommands } from "./commands.ts";
import { explainDeletion, findUnready, type Verdict } from "./explain-replicas.ts";
import { lastEvent, sentence, type WorkloadExplanation } from "./explanation.ts";

export interface DaemonSetFacts {
  readonly daemonSet: DaemonSet;
  /** Pods that the DaemonSet controls. */
  readonly pods: readonly Pod[];
  /** Events of the DaemonSet, in any order. */
  readonly events?: readonly Event[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Explains what a DaemonSet waits for. */
export function explainDaemonSet(facts: DaemonSetFacts): WorkloadExplanation {
  const { daemonSet, pods, now } = facts;
  const { spec, status } = daemonSet;
  const blockingPod = findUnready(pods, now)?.metadata.name;
  return {
    replicas: status?.desiredNumberScheduled ?? 0,
    ready: status?.numberReady ?? 0,
    updated: status?.updatedNumberScheduled ?? 0,
    strategy: spec?.updateStrategy?.type ?? "RollingUpdate",
    isOver: isComplete(daemonSet),
    blockingPod,
    ...(explainDeletion("DaemonSet", daemonSet) ?? explainPods(facts, blockingPod)),
  };
}

function isComplete({ metadata, status }: DaemonSet): boolean {
  const desired = status?.desiredNumberScheduled ?? 0;
  const isObserved = (status?.observedGeneration ?? 0) >= (metadata.generation ?? 0);
  return (
    isObserved &&
    (status?.numberAvailable ?? 0) >= desired &&
    (status?.updatedNumberScheduled ?? 0) >= desired
  );
}

function explainPods({ daemonSet, pods, events = [] }: DaemonSetFacts, blockingPod?: string): Verdict {
  const { metadata, spec, status } = daemonSet;
  const verdict = (because: string, fix?: string): Verdict => ({ because, isTransient: true, fix });
  if ((status?.observedGeneration ?? 0) < (metadata.generation ?? 0)) {
    const fix = "if this persists, check that the controller manager is running";
    return verdict("The DaemonSet controller has not processed the last change yet.", fix);
  }
  const desired = status?.desiredNumberScheduled ?? 0;
  const ready = `${status?.numberReady ?? 0} of ${desired} nodes have a ready pod`;
  if (blockingPod) return verdict(`The DaemonSet waits for pod ${blockingPod}; ${ready}.`);
  if (desired === 0)
    return verdict("No node is eligible: node selector, affinity and taints exclude all of them.");
  const live = pods.filter((pod) => !isTerminating(pod)).length;
  if (live < desired) {
    const rejected = lastEvent({ events }, "FailedCreate")?.message;
    const because = sentence(`${live} of ${desired} pods exist${rejected ? `: ${rejected}` : ""}`);
    return verdict(because, `see the events: kubectl describe daemonset ${inCommands(daemonSet)}`);
  }
  const updated = status?.updatedNumberScheduled ?? 0;
  if (updated < desired) {
    const counts = `${updated} of ${desired} pods have the current template`;
    if (spec?.updateStrategy?.type !== "OnDelete") return verdict(`${counts}; the others are replaced.`);
    return { ...verdict(`${counts}; OnDelete replaces a pod only when it is deleted.`), isTransient: false };
  }
  const waiting = desired - (status?.numberAvailable ?? 0);
  if (waiting > 0)
    return verdict(`${ready}, but ${waiting} not yet for ${spec?.minReadySeconds ?? 0} s (minReadySeconds).`);
  return verdict("All pods are ready.");
}

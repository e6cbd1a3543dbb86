import { byRevision, revisionOf } from "../api/kinds/apps/deployment/revision.ts";
import { conditionOf, isReady } from "../api/meta/object-facts.ts";
import type { Deployment, Event, Pod, ReplicaSet } from "../api/meta/objects.ts";
import { isTerminating } from "../api/pod/pod-state.ts";
import { inCommands } from "./commands.ts";
import type { WorkloadExplanation } from "./explanation.ts";
import { lastEvent, sentence } from "./explanation.ts";
import { podHealth } from "./pod-health.ts";

export interface ReplicaSetFacts {
  readonly replicaSet: ReplicaSet;
  /** Pods that the ReplicaSet controls. */
  readonly pods: readonly Pod[];
  /** Events of the ReplicaSet, in any order. */
  readonly events?: readonly Event[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export interface DeploymentFacts {
  readonly deployment: Deployment;
  /** ReplicaSets of the Deployment that have pods or should have some. */
  readonly replicaSets: readonly Omit<ReplicaSetFacts, "now">[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

export type Verdict = Pick<WorkloadExplanation, "because" | "isTransient" | "fix">;

export function explainReplicaSet(facts: ReplicaSetFacts): WorkloadExplanation {
  const { replicaSet, pods, now } = facts;
  const replicas = replicaSet.spec?.replicas ?? 1;
  const blocking = findUnready(pods, now);
  const ready = pods.filter(isReady).length;
  const counts = {
    replicas,
    ready,
    updated: pods.length,
    blockingPod: blocking?.metadata.name,
    strategy: "",
  };
  return {
    ...counts,
    ...(explainDeletion("ReplicaSet", replicaSet) ??
      explainCreation(facts) ??
      explainReadiness({ ...counts, what: "ReplicaSet" })),
  };
}

export function explainDeployment({ deployment, replicaSets, now }: DeploymentFacts): WorkloadExplanation {
  const { spec } = deployment;
  const replicas = spec?.replicas ?? 1;
  const current = findCurrent(deployment, replicaSets);
  const pods = replicaSets.flatMap((each) => each.pods);
  const blocking = findUnready(current?.pods ?? [], now) ?? findUnready(pods, now);
  const counts = {
    replicas,
    ready: pods.filter(isReady).length,
    updated: current?.pods.filter((pod) => !isTerminating(pod)).length ?? 0,
    strategy: spec?.strategy?.type ?? "RollingUpdate",
    blockingPod: blocking?.metadata.name,
  };
  return {
    ...counts,
    ...(explainDeletion("Deployment", deployment) ??
      explainUnobserved(deployment) ??
      explainPaused(deployment, counts) ??
      (current && explainCreation({ ...current, now })) ??
      explainDeadline(deployment, counts) ??
      explainReadiness({ ...counts, what: "rollout" })),
  };
}

/** Finds the ReplicaSet of the Deployment's current template: the one with its revision, else the newest revision. */
function findCurrent(
  deployment: Deployment,
  replicaSets: DeploymentFacts["replicaSets"],
): DeploymentFacts["replicaSets"][number] | undefined {
  const wanted = revisionOf(deployment);
  return (
    replicaSets.find(({ replicaSet }) => wanted && revisionOf(replicaSet) === wanted) ??
    replicaSets.toSorted((a, b) => byRevision(b.replicaSet, a.replicaSet))[0]
  );
}

/** Finds a pod that is not ready: a permanent failure first, then the oldest. */
export function findUnready(pods: readonly Pod[], now: number): Pod | undefined {
  const createdMs = ({ metadata }: Pod) => Date.parse(metadata.creationTimestamp ?? "") || 0;
  const isPermanent = (pod: Pod) => podHealth(pod, { now }).kind === "permanent";
  return pods
    .filter((pod) => !isReady(pod) && !isTerminating(pod))
    .toSorted((a, b) => Number(isPermanent(b)) - Number(isPermanent(a)) || createdMs(a) - createdMs(b))[0];
}

export function explainDeletion(
  kind: string,
  { metadata }: Pick<Deployment, "metadata">,
): Verdict | undefined {
  const { deletionTimestamp, finalizers = [] } = metadata;
  if (!deletionTimestamp) return undefined;
  const held = finalizers.length > 0 ? `; its finalizers block the deletion: ${finalizers.join(", ")}` : "";
  return { because: `The ${kind} is being deleted${held}.`, isTransient: true, fix: undefined };
}

function explainUnobserved({ metadata, status }: Deployment): Verdict | undefined {
  if ((status?.observedGeneration ?? 0) >= (metadata.generation ?? 0)) return undefined;
  return {
    because: "The deployment controller has not processed the last change yet.",
    isTransient: true,
    fix: "if this persists, check that the controller manager is running",
  };
}

function explainPaused(
  deployment: Deployment,
  { updated, replicas }: { readonly updated: number; readonly replicas: number },
): Verdict | undefined {
  if (!deployment.spec?.paused || updated >= replicas) return undefined;
  return {
    because: `${updated} of ${replicas} pods have the current template; the rollout is paused (spec.paused).`,
    isTransient: false,
    fix: `continue it: kubectl rollout resume deployment ${inCommands(deployment)}`,
  };
}

/** Explains pods that the controller cannot create: quotas, admission, a missing service account. */
function explainCreation({ replicaSet, pods, events = [] }: ReplicaSetFacts): Verdict | undefined {
  const replicas = replicaSet.spec?.replicas ?? 1;
  const live = pods.filter((pod) => !isTerminating(pod)).length;
  if (live >= replicas) return undefined;
  const failure = conditionOf(replicaSet, "ReplicaFailure");
  const said =
    (failure?.status === "True" ? failure.message : undefined) ??
    lastEvent({ events }, "FailedCreate")?.message;
  return {
    because: sentence(
      `${live} of ${replicas} pods of ReplicaSet ${replicaSet.metadata.name} exist${said ? `: ${said}` : ""}`,
    ),
    isTransient: true,
    fix: `see why no more are created: kubectl describe replicaset ${inCommands(replicaSet)}`,
  };
}

function explainDeadline(
  deployment: Deployment,
  { ready, replicas, blockingPod }: Pick<WorkloadExplanation, "ready" | "replicas" | "blockingPod">,
): Verdict | undefined {
  const progressing = conditionOf(deployment, "Progressing");
  if (progressing?.status !== "False" || progressing.reason !== "ProgressDeadlineExceeded") return undefined;
  const seconds = deployment.spec?.progressDeadlineSeconds ?? 600;
  const waits = blockingPod ? ` and waits for pod ${blockingPod}` : "";
  return {
    because: `The rollout has made no progress for ${seconds} s (progressDeadlineSeconds)${waits}; ${ready} of ${replicas} pods are ready.`,
    isTransient: true,
    fix: `to return to the previous template: kubectl rollout undo deployment ${inCommands(deployment)}`,
  };
}

function explainReadiness({
  what,
  ready,
  replicas,
  updated,
  blockingPod,
}: Pick<WorkloadExplanation, "ready" | "replicas" | "updated" | "blockingPod"> & {
  readonly what: string;
}): Verdict {
  const because = blockingPod
    ? `The ${what} waits for pod ${blockingPod}; ${Math.min(ready, replicas)} of ${replicas} pods are ready.`
    : updated < replicas
      ? `${updated} of ${replicas} pods have the current template; the others are replaced one by one.`
      : replicas === 0
        ? "No pods are wanted: spec.replicas is 0."
        : "All pods are ready.";
  return { because, isTransient: true, fix: undefined };
}

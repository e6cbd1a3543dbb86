import type { Deployment, ReplicaSet } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { availableOf, replicasOf, rollingLimits, sizeOf, sum } from "./replica-sets.ts";

interface Facts {
  /** Deployment with the conditions that this sync has set so far. */
  readonly deployment: Deployment;
  readonly current?: ReplicaSet;
  readonly old: readonly ReplicaSet[];
  readonly now: number;
}

const never = 2 ** 31 - 1;

/** Seconds without progress after which a rollout is reported as failed. */
function deadlineOf({ spec }: Deployment): number | undefined {
  const seconds = spec?.progressDeadlineSeconds;
  return seconds === never ? undefined : seconds;
}

export function hasDeadline(deployment: Deployment): boolean {
  return deadlineOf(deployment) !== undefined;
}

/** Status with replica counts and the Available condition. */
export function countReplicas({ deployment, current, old, now }: Facts): DeploymentStatus {
  const all = [...old, ...(current ? [current] : [])];
  const available = sum(all, availableOf);
  const enough = available >= replicasOf(deployment) - rollingLimits(deployment).maxUnavailable;
  // As upstream, counts of zero are omitted.
  return {
    observedGeneration: deployment.metadata.generation,
    replicas: sum(all, ({ status }) => status?.replicas ?? 0) || undefined,
    updatedReplicas: current?.status?.replicas || undefined,
    readyReplicas: sum(all, ({ status }) => status?.readyReplicas ?? 0) || undefined,
    availableReplicas: available || undefined,
    unavailableReplicas: Math.max(0, sum(all, sizeOf) - available) || undefined,
    terminatingReplicas: terminatingReplicas(all),
    collisionCount: deployment.status?.collisionCount,
    conditions: withFinding(
      deployment.status?.conditions ?? [],
      enough
        ? {
            type: "Available",
            status: "True",
            reason: "MinimumReplicasAvailable",
            message: "Deployment has minimum availability.",
          }
        : {
            type: "Available",
            status: "False",
            reason: "MinimumReplicasUnavailable",
            message: "Deployment does not have minimum availability.",
          },
      now,
    ),
  };
}

/** Undefined if one of the ReplicaSets has no count. */
function terminatingReplicas(sets: readonly ReplicaSet[]): number | undefined {
  const observed = sets.filter(({ status }) => status?.observedGeneration || status?.terminatingReplicas);
  if (observed.some(({ status }) => status?.terminatingReplicas === undefined)) return undefined;
  return sum(observed, ({ status }) => status?.terminatingReplicas ?? 0);
}

/** Status with replica counts, the Available and the Progressing condition. */
export function rolloutStatus(facts: Facts): DeploymentStatus {
  const counted = countReplicas(facts);
  const conditions = withReplicaFailure(progressAfter(facts, counted), facts);
  return { ...counted, conditions };
}

function progressAfter({ deployment, current, now }: Facts, counted: DeploymentStatus): Conditions {
  const conditions = counted.conditions ?? [];
  if (!hasDeadline(deployment)) return withoutCondition(conditions, "Progressing");
  const before = conditionOf(conditions, "Progressing");
  const wasComplete =
    before?.reason === "NewReplicaSetAvailable" && counted.replicas === counted.updatedReplicas;
  if (wasComplete) return conditions;
  const what = current ? `ReplicaSet "${current.metadata.name}"` : `Deployment "${deployment.metadata.name}"`;
  if (isComplete(deployment, counted)) {
    const message = `${what} has successfully progressed.`;
    const done = { status: "True", reason: "NewReplicaSetAvailable", message } as const;
    return withFinding(conditions, { type: "Progressing", ...done }, now);
  }
  if (hasProgressed(deployment.status ?? {}, counted)) {
    const going = {
      status: "True",
      reason: "ReplicaSetUpdated",
      message: `${what} is progressing.`,
    } as const;
    return withRefreshedCondition(conditions, { type: "Progressing", ...going }, now);
  }
  if (!hasTimedOut(deployment, conditions, now)) return conditions;
  const message = `${what} has timed out progressing.`;
  const stuck = { status: "False", reason: "ProgressDeadlineExceeded", message } as const;
  return withFinding(conditions, { type: "Progressing", ...stuck }, now);
}

/** All pods are of the current template and available, and no others are left. */
export function isComplete(deployment: Deployment, status: DeploymentStatus): boolean {
  const replicas = replicasOf(deployment);
  return (
    (status.updatedReplicas ?? 0) === replicas &&
    (status.replicas ?? 0) === replicas &&
    (status.availableReplicas ?? 0) === replicas &&
    (status.observedGeneration ?? 0) >= (deployment.metadata.generation ?? 0)
  );
}

function hasProgressed(before: DeploymentStatus, now: DeploymentStatus): boolean {
  const old = ({ replicas = 0, updatedReplicas = 0 }: DeploymentStatus) => replicas - updatedReplicas;
  return (
    (now.updatedReplicas ?? 0) > (before.updatedReplicas ?? 0) ||
    old(now) < old(before) ||
    (now.readyReplicas ?? 0) > (before.readyReplicas ?? 0) ||
    (now.availableReplicas ?? 0) > (before.availableReplicas ?? 0)
  );
}

function hasTimedOut(deployment: Deployment, conditions: Conditions, now: number): boolean {
  const progressing = conditionOf(conditions, "Progressing");
  if (!progressing || progressing.reason === "NewReplicaSetAvailable") return false;
  return progressing.reason === "ProgressDeadlineExceeded" || timesOutInMs(deployment, conditions, now) <= 0;
}

function timesOutInMs(deployment: Deployment, conditions: Conditions, now: number): number {
  const since = Date.parse(conditionOf(conditions, "Progressing")?.lastUpdateTime ?? "");
  // API times have whole seconds: one second later the deadline has passed in any case.
  return since + ((deadlineOf(deployment) ?? 0) + 1) * 1_000 - now;
}

/** Milliseconds until a waiting rollout may exceed its deadline. */
export function deadlineCheckInMs(
  deployment: Deployment,
  status: DeploymentStatus,
  now: number,
): number | undefined {
  const progressing = conditionOf(status.conditions, "Progressing");
  if (!hasDeadline(deployment) || deployment.spec?.paused || !progressing) return undefined;
  if (isComplete(deployment, status) || progressing.reason === "ProgressDeadlineExceeded") return undefined;
  if (progressing.reason === "NewReplicaSetAvailable") return undefined;
  return Math.max(1_000, timesOutInMs(deployment, status.conditions ?? [], now));
}

/** Copies ReplicaFailure from a ReplicaSet, preferably the current one. */
function withReplicaFailure(conditions: Conditions, { current, old }: Facts): Conditions {
  const failure = [...(current ? [current] : []), ...old]
    .flatMap(({ status }) => status?.conditions ?? [])
    .find(({ type }) => type === "ReplicaFailure");
  if (!failure) return withoutCondition(conditions, "ReplicaFailure");
  return withCondition(conditions, { ...failure, lastUpdateTime: failure.lastTransitionTime });
}

type DeploymentStatus = NonNullable<Deployment["status"]>;
type Conditions = NonNullable<DeploymentStatus["conditions"]>;
type Condition = Conditions[number];

export interface Finding {
  readonly type: "Progressing" | "Available";
  readonly status: "True" | "False" | "Unknown";
  readonly reason: string;
  readonly message: string;
}

export function conditionOf(conditions: Conditions | undefined, type: string): Condition | undefined {
  return conditions?.find((condition) => condition.type === type);
}

/** Sets a condition. One with the same status and reason keeps its times. */
export function withFinding(conditions: Conditions, finding: Finding, now: number): Conditions {
  const time = formatTime(now);
  return withCondition(conditions, { ...finding, lastUpdateTime: time, lastTransitionTime: time });
}

function withCondition(conditions: Conditions, condition: Condition): Conditions {
  const before = conditionOf(conditions, condition.type);
  if (before?.status === condition.status && before.reason === condition.reason) return conditions;
  return replaced(conditions, condition);
}

/** Sets a condition and updates its lastUpdateTime even if status and reason are unchanged. */
function withRefreshedCondition(conditions: Conditions, finding: Finding, now: number): Conditions {
  const time = formatTime(now);
  return replaced(conditions, { ...finding, lastUpdateTime: time, lastTransitionTime: time });
}

function replaced(conditions: Conditions, condition: Condition): Conditions {
  const before = conditionOf(conditions, condition.type);
  const { lastTransitionTime } = before?.status === condition.status ? before : condition;
  return [...withoutCondition(conditions, condition.type), { ...condition, lastTransitionTime }];
}

function withoutCondition(conditions: Conditions, type: string): Conditions {
  return conditions.filter((condition) => condition.type !== type);
}

import { byRevision, revisionAnnotation } from "../../api/kinds/apps/deployment/revision.ts";
import { isEqual } from "../../api/meta/is-equal.ts";
import type { Deployment, Pod, ReplicaSet } from "../../api/meta/objects.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import { decideRolling, decideScale, type Resize, sizeOfCurrent, wasScaled } from "./decide-sizes.ts";
import {
  conditionOf,
  countReplicas,
  deadlineCheckInMs,
  type Finding,
  hasDeadline,
  isComplete,
  rolloutStatus,
  withFinding,
} from "./decide-status.ts";
import {
  byAge,
  currentSetAnnotations,
  maxRevision,
  newReplicaSet,
  replicasOf,
  sizeAnnotations,
  sizeOf,
  splitSets,
  sum,
} from "./replica-sets.ts";

interface DeploymentFacts {
  readonly deployment: Deployment;
  /** ReplicaSets that the Deployment controls. */
  readonly sets: readonly ReplicaSet[];
  podsOf(set: ReplicaSet): readonly Pod[];
  readonly now: number;
}

export interface DeploymentPlan {
  readonly create?: ReplicaSet;
  readonly updates: readonly { readonly before: ReplicaSet; readonly after: ReplicaSet }[];
  readonly deletions: readonly ReplicaSet[];
  /** Deployment with the status and revision to write last. Omitted if unchanged. */
  readonly deployment?: Deployment;
  readonly requeueAfterMs?: number;
}

/** Changes to the ReplicaSets. */
interface Course {
  /** The ReplicaSet with the current template after the changes, if it exists. */
  readonly current?: ReplicaSet;
  readonly create?: ReplicaSet;
  readonly resizes: readonly Resize[];
  readonly forget: boolean;
  readonly kind: "scale" | "rollout" | "nothing";
}

export function decideDeployment({ deployment, sets, podsOf, now }: DeploymentFacts): DeploymentPlan {
  const { current: seen, old } = splitSets(deployment, sets);
  const current = seen && updatedCurrent(deployment, seen, old);
  const course = decideCourse(deployment, { current, old, podsOf });
  const after = new Map(course.resizes.map(({ set, replicas }) => [set, resized(deployment, set, replicas)]));
  const afterwards = (set: ReplicaSet) => after.get(set) ?? set;
  const known = course.current && afterwards(course.current);
  const updates = [
    ...(seen && known && course.kind !== "nothing" ? [{ before: seen, after: known }] : []),
    ...old.map((set) => ({ before: set, after: afterwards(set) })),
  ].filter((update) => !isEqual(update.before, update.after));

  const annotated = withFindings(deployment, { found: known, created: course.create, now });
  const facts = { deployment: annotated, current: course.create ?? known, old: old.map(afterwards), now };
  const status = course.kind === "rollout" ? rolloutStatus(facts) : countReplicas(facts);
  const next: Deployment = { ...annotated, status };
  const requeueAfterMs = deadlineCheckInMs(next, status, now);
  return {
    ...(course.create && { create: course.create }),
    updates,
    deletions: course.forget ? setsToForget(deployment, old) : [],
    ...(!isEqual(deployment, next) && { deployment: next }),
    ...(requeueAfterMs !== undefined && { requeueAfterMs }),
  };
}

function decideCourse(
  deployment: Deployment,
  {
    current,
    old,
    podsOf,
  }: Pick<DeploymentFacts, "podsOf"> & { current?: ReplicaSet; old: readonly ReplicaSet[] },
): Course {
  const known = current && { current };
  if (deployment.metadata.deletionTimestamp) return { ...known, resizes: [], forget: false, kind: "nothing" };
  const paused = deployment.spec?.paused === true;
  if (paused || wasScaled(deployment, { ...known, old })) {
    return { ...known, resizes: decideScale(deployment, { ...known, old }), forget: paused, kind: "scale" };
  }
  const forget = isComplete(deployment, deployment.status ?? {});
  if (deployment.spec?.strategy?.type === "Recreate") {
    const running = old.filter((set) => sizeOf(set) > 0);
    if (running.length > 0) {
      const resizes = running.map((set) => ({ set, replicas: 0 }));
      return { ...known, resizes, forget: false, kind: "rollout" };
    }
    if (hasOldPods(old, podsOf)) return { ...known, resizes: [], forget: false, kind: "rollout" };
  }
  if (!current) {
    const replicas = sizeOfCurrent(deployment, { size: 0, all: old });
    const create = newReplicaSet(deployment, { revision: maxRevision(old) + 1n, replicas });
    // Unavailable old pods may be deleted in the same step.
    const resizes = stepOf(deployment, create, old).filter(({ set }) => set !== create);
    return { create, resizes, forget: false, kind: "rollout" };
  }
  const resizes = stepOf(deployment, current, old);
  return { current, resizes, forget: forget && resizes.length === 0, kind: "rollout" };
}

function stepOf(deployment: Deployment, current: ReplicaSet, old: readonly ReplicaSet[]): readonly Resize[] {
  if (deployment.spec?.strategy?.type !== "Recreate") return decideRolling(deployment, { current, old });
  const replicas = replicasOf(deployment);
  return sizeOf(current) === replicas ? [] : [{ set: current, replicas }];
}

/** Also counts pods that are being deleted, which no ReplicaSet reports. */
function hasOldPods(old: readonly ReplicaSet[], podsOf: DeploymentFacts["podsOf"]): boolean {
  return (
    sum(old, ({ status }) => status?.replicas ?? 0) > 0 ||
    old.some((set) => podsOf(set).some((pod) => !hasEnded(pod)))
  );
}

function updatedCurrent(deployment: Deployment, set: ReplicaSet, old: readonly ReplicaSet[]): ReplicaSet {
  const annotations = { ...currentSetAnnotations(deployment, set, maxRevision(old) + 1n) };
  const minReadySeconds = deployment.spec?.minReadySeconds ?? 0;
  const next: ReplicaSet = { ...set, metadata: { ...set.metadata, annotations } };
  if (!set.spec || (set.spec.minReadySeconds ?? 0) === minReadySeconds) return next;
  return { ...next, spec: { ...set.spec, minReadySeconds } };
}

function resized(deployment: Deployment, set: ReplicaSet, replicas: number): ReplicaSet {
  if (!set.spec) return set;
  const annotations = { ...set.metadata.annotations, ...sizeAnnotations(deployment) };
  return { ...set, metadata: { ...set.metadata, annotations }, spec: { ...set.spec, replicas } };
}

interface Findings {
  readonly found?: ReplicaSet;
  readonly created?: ReplicaSet;
  readonly now: number;
}

/** Adds the revision and the progress conditions that do not depend on counting pods. */
function withFindings(deployment: Deployment, { found, created, now }: Findings): Deployment {
  const { metadata, status = {} } = deployment;
  const revision = (created ?? found)?.metadata.annotations?.[revisionAnnotation];
  const annotations = revision && {
    annotations: { ...metadata.annotations, [revisionAnnotation]: revision },
  };
  let conditions = status.conditions ?? [];
  for (const finding of progressFindings(deployment, { found, created })) {
    conditions = withFinding(conditions, { type: "Progressing", ...finding }, now);
  }
  return { ...deployment, metadata: { ...metadata, ...annotations }, status: { ...status, conditions } };
}

function progressFindings(
  deployment: Deployment,
  { found, created }: Omit<Findings, "now">,
): readonly Omit<Finding, "type">[] {
  if (!hasDeadline(deployment) || deployment.metadata.deletionTimestamp) return [];
  const before = conditionOf(deployment.status?.conditions, "Progressing");
  const findings: Omit<Finding, "type">[] = [];
  const paused = deployment.spec?.paused === true;
  // A failed rollout stays failed, paused or not. A resumed rollout gets its full deadline.
  if (paused && before?.reason !== "ProgressDeadlineExceeded") {
    findings.push({ status: "Unknown", reason: "DeploymentPaused", message: "Deployment is paused" });
  } else if (!paused && before?.reason === "DeploymentPaused") {
    findings.push({ status: "Unknown", reason: "DeploymentResumed", message: "Deployment is resumed" });
  } else if (found && !before) {
    const message = `Found new replica set "${found.metadata.name}"`;
    findings.push({ status: "True", reason: "FoundNewReplicaSet", message });
  }
  if (created) {
    const message = `Created new replica set "${created.metadata.name}"`;
    findings.push({ status: "True", reason: "NewReplicaSetCreated", message });
  }
  return findings;
}

/** Old ReplicaSets beyond the history limit, lowest revision first. Those that have or may have pods are kept. */
function setsToForget(deployment: Deployment, old: readonly ReplicaSet[]): readonly ReplicaSet[] {
  const limit = deployment.spec?.revisionHistoryLimit ?? 10;
  const kept = old.filter(({ metadata }) => !metadata.deletionTimestamp);
  return kept
    .sort((a, b) => byRevision(a, b) || byAge(a, b))
    .slice(0, Math.max(0, kept.length - limit))
    .filter(
      (set) =>
        sizeOf(set) === 0 &&
        (set.status?.replicas ?? 0) === 0 &&
        (set.metadata.generation ?? 0) <= (set.status?.observedGeneration ?? 0),
    );
}

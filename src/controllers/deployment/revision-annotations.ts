import type { Deployment, KubeObject, ReplicaSet } from "../../api/objects.ts";
import { replicasOf, rollingLimits } from "./replica-set-size.ts";

export const revisionAnnotation = "deployment.kubernetes.io/revision";
const historyAnnotation = "deployment.kubernetes.io/revision-history";
export const desiredAnnotation = "deployment.kubernetes.io/desired-replicas";
export const maxAnnotation = "deployment.kubernetes.io/max-replicas";

/** Those that are about one object alone. */
const ownAnnotations = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "deprecated.deployment.rollback.to",
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxAnnotation,
]);

const longestHistory = 2000;
const maxCount = 2 ** 31 - 1;

type Annotations = Readonly<Record<string, string>>;

/** 0 for what has none; undefined for one that is no number. */
export function revisionOf({ metadata }: KubeObject): number | undefined {
  const text = metadata.annotations?.[revisionAnnotation];
  if (text === undefined) return 0;
  return /^[-+]?[0-9]{1,18}$/.test(text) ? Number(text) : undefined;
}

export function maxRevision(sets: readonly ReplicaSet[]): number {
  return Math.max(0, ...sets.map((set) => revisionOf(set) ?? 0));
}

export function countIn(set: ReplicaSet, annotation: string): number | undefined {
  const text = set.metadata.annotations?.[annotation] ?? "";
  if (!/^[0-9]{1,10}$/.test(text)) return undefined;
  const count = Number(text);
  return count > maxCount ? undefined : count;
}

/** What the set with the current template says: the Deployment's own annotations, and which revision it is. */
export function currentSetAnnotations(
  { metadata: { annotations: wanted = {} } }: Deployment,
  set: ReplicaSet,
  revision: number,
): Annotations {
  const { annotations = {} } = set.metadata;
  const copied = Object.entries(wanted).filter(([key]) => !ownAnnotations.has(key));
  const next: Record<string, string> = { ...annotations, ...Object.fromEntries(copied) };
  const before = revisionOf(set);
  if (before === undefined || before >= revision) return next;
  next[revisionAnnotation] = String(revision);
  const last = annotations[revisionAnnotation];
  // It has been the current one before: a rollback.
  if (last !== undefined) next[historyAnnotation] = withRevision(annotations[historyAnnotation], last);
  return next;
}

function withRevision(history: string | undefined, revision: string): string {
  const revisions = [...(history ? history.split(",") : []), revision];
  while (revisions.length > 1 && revisions.join(",").length > longestHistory) revisions.shift();
  return revisions.join(",");
}

/** Which size of the Deployment the size of a set goes by: tells scaling from rolling out. */
export function sizeAnnotations(deployment: Deployment): Annotations {
  const desired = replicasOf(deployment);
  return {
    [desiredAnnotation]: String(desired),
    [maxAnnotation]: String(desired + rollingLimits(deployment).maxSurge),
  };
}

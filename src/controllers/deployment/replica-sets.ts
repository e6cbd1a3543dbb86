import { createHash } from "node:crypto";
import { revisionAnnotation, revisionOf } from "../../api/kinds/apps/deployment/revision.ts";
import { isEqual } from "../../api/meta/is-equal.ts";
import { controllerReference } from "../../api/meta/object-facts.ts";
import type { Deployment, ReplicaSet } from "../../api/meta/objects.ts";
import type { PodTemplate } from "../../api/pod/defaults/pod.ts";
import { scaledValue } from "../../lib/scaled-value.ts";

/** Desired number of pods of a ReplicaSet. */
export function sizeOf({ spec }: ReplicaSet): number {
  return spec?.replicas ?? 1;
}

export function replicasOf({ spec }: Deployment): number {
  return spec?.replicas ?? 1;
}

export function availableOf({ status }: ReplicaSet): number {
  return status?.availableReplicas ?? 0;
}

export function sum<T>(items: Iterable<T>, count: (item: T) => number): number {
  let total = 0;
  for (const item of items) total += count(item);
  return total;
}

/** Resolved maxSurge and maxUnavailable. */
export function rollingLimits(deployment: Deployment): {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
} {
  const { strategy } = deployment.spec ?? {};
  if (strategy?.type === "Recreate") return { maxSurge: 0, maxUnavailable: 0 };
  const replicas = replicasOf(deployment);
  const maxSurge = scaledValue(strategy?.rollingUpdate?.maxSurge, replicas, "up");
  const unavailable = scaledValue(strategy?.rollingUpdate?.maxUnavailable, replicas, "down");
  // If both resolve to 0 the rollout could never progress.
  const maxUnavailable = maxSurge === 0 && unavailable === 0 ? 1 : unavailable;
  return { maxSurge, maxUnavailable: Math.min(maxUnavailable, replicas) };
}

/** Orders by creation time, oldest first, then by name. */
export function byAge(a: ReplicaSet, b: ReplicaSet): number {
  return (
    compare(a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? "") ||
    compare(a.metadata.name ?? "", b.metadata.name ?? "")
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

const historyAnnotation = "deployment.kubernetes.io/revision-history";
export const desiredAnnotation = "deployment.kubernetes.io/desired-replicas";
export const maxAnnotation = "deployment.kubernetes.io/max-replicas";

/** Annotations that are not copied from a Deployment to its ReplicaSets. */
const ownAnnotations = new Set([
  "kubectl.kubernetes.io/last-applied-configuration",
  "deprecated.deployment.rollback.to",
  revisionAnnotation,
  historyAnnotation,
  desiredAnnotation,
  maxAnnotation,
]);

const maxHistoryLength = 2000;
const maxCount = 2 ** 31 - 1;

type Annotations = Readonly<Record<string, string>>;

export function maxRevision(sets: readonly ReplicaSet[]): bigint {
  let max = 0n;
  for (const set of sets) {
    const revision = revisionOf(set) ?? 0n;
    if (revision > max) max = revision;
  }
  return max;
}

export function countIn(set: ReplicaSet, annotation: string): number | undefined {
  const text = set.metadata.annotations?.[annotation] ?? "";
  if (!/^[0-9]{1,10}$/.test(text)) return undefined;
  const count = Number(text);
  return count > maxCount ? undefined : count;
}

/** Annotations of the current ReplicaSet: those copied from the Deployment, and its revision. */
export function currentSetAnnotations(
  { metadata: { annotations: wanted = {} } }: Deployment,
  set: ReplicaSet,
  revision: bigint,
): Annotations {
  const { annotations = {} } = set.metadata;
  const copied = Object.entries(wanted).filter(([key]) => !ownAnnotations.has(key));
  const next: Record<string, string> = { ...annotations, ...Object.fromEntries(copied) };
  const before = revisionOf(set);
  if (before === undefined || before >= revision) return next;
  next[revisionAnnotation] = String(revision);
  const last = annotations[revisionAnnotation];
  // It was current before: a rollback.
  if (last !== undefined) next[historyAnnotation] = withRevision(annotations[historyAnnotation], last);
  return next;
}

function withRevision(history: string | undefined, revision: string): string {
  const revisions = [...(history ? history.split(",") : []), revision];
  while (revisions.length > 1 && revisions.join(",").length > maxHistoryLength) revisions.shift();
  return revisions.join(",");
}

/** Replicas that the ReplicaSets were sized for, by which scaling is detected. */
export function sizeAnnotations(deployment: Deployment): Annotations {
  const desired = replicasOf(deployment);
  return {
    [desiredAnnotation]: String(desired),
    [maxAnnotation]: String(desired + rollingLimits(deployment).maxSurge),
  };
}

const hashLabel = "pod-template-hash";
const maxNameLength = 253;
/** Alphabet of upstream's SafeEncodeString, which cannot form words. */
const letters = "bcdfghjklmnpqrstvwxz2456789";

interface Sets {
  /** ReplicaSet with the Deployment's template; the oldest if there are several. */
  readonly current?: ReplicaSet;
  readonly old: readonly ReplicaSet[];
}

export function splitSets(deployment: Deployment, sets: readonly ReplicaSet[]): Sets {
  const sorted = [...sets].sort(byAge);
  const current = sorted.find((set) => hasTemplateOf(deployment, set));
  return { ...(current && { current }), old: sorted.filter((set) => set !== current) };
}

export function hasTemplateOf({ spec }: Deployment, set: ReplicaSet): boolean {
  return isEqual(withoutHash(spec?.template), withoutHash(set.spec?.template));
}

function withoutHash(template: PodTemplate | undefined): PodTemplate {
  const { [hashLabel]: _, ...labels } = template?.metadata?.labels ?? {};
  return { ...template, metadata: { ...template?.metadata, labels } };
}

/** The name is derived from the template, so that creating the same ReplicaSet twice fails with AlreadyExists. */
export function newReplicaSet(
  deployment: Deployment,
  { revision, replicas }: { readonly revision: bigint; readonly replicas: number },
): ReplicaSet {
  const { name = "", namespace } = deployment.metadata;
  const { template = {}, selector, minReadySeconds } = deployment.spec ?? {};
  const hash = hashOf(template, deployment.status?.collisionCount);
  const labels = { ...template.metadata?.labels, [hashLabel]: hash };
  const set: ReplicaSet = {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: {
      name: `${name.slice(0, maxNameLength - hash.length - 1)}-${hash}`,
      namespace,
      labels,
      ownerReferences: [controllerReference(deployment)],
    },
    spec: {
      replicas,
      ...(minReadySeconds && { minReadySeconds }),
      selector: { ...selector, matchLabels: { ...selector?.matchLabels, [hashLabel]: hash } },
      template: { ...template, metadata: { ...template.metadata, labels } },
    },
  };
  set.metadata.annotations = {
    ...currentSetAnnotations(deployment, set, revision),
    ...sizeAnnotations(deployment),
  };
  return set;
}

function hashOf(template: PodTemplate, collisionCount: number | undefined): string {
  const text = JSON.stringify(template, (_, value: unknown) => sorted(value)) + (collisionCount ?? "");
  const number = createHash("sha256").update(text).digest().readUInt32BE();
  return [...String(number)].map((digit) => letters[digit.charCodeAt(0) % letters.length]).join("");
}

/** Sorts keys, whose order must not change the hash. */
function sorted(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

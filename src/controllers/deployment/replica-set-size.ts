import type { Deployment, ReplicaSet } from "../../api/objects.ts";
import { scaledValue } from "../scaled-value.ts";

/** How many pods a set is to have. */
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

/** How far a rollout may go above and below the number of pods that is asked for. */
export function rollingLimits(deployment: Deployment): {
  readonly maxSurge: number;
  readonly maxUnavailable: number;
} {
  const { strategy } = deployment.spec ?? {};
  if (strategy?.type === "Recreate") return { maxSurge: 0, maxUnavailable: 0 };
  const replicas = replicasOf(deployment);
  const maxSurge = scaledValue(strategy?.rollingUpdate?.maxSurge, replicas, "up");
  const unavailable = scaledValue(strategy?.rollingUpdate?.maxUnavailable, replicas, "down");
  // Rounded down, both may be none: then it would never get anywhere.
  const maxUnavailable = maxSurge === 0 && unavailable === 0 ? 1 : unavailable;
  return { maxSurge, maxUnavailable: Math.min(maxUnavailable, replicas) };
}

/** The oldest first. */
export function byAge(a: ReplicaSet, b: ReplicaSet): number {
  return (
    compare(a.metadata.creationTimestamp ?? "", b.metadata.creationTimestamp ?? "") ||
    compare(a.metadata.name ?? "", b.metadata.name ?? "")
  );
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}

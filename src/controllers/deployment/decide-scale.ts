import type { Deployment, ReplicaSet } from "../../api/objects.ts";
import type { Resize } from "./decide-rollout.ts";
import { availableOf, byAge, replicasOf, rollingLimits, sizeOf, sum } from "./replica-set-size.ts";
import { countIn, desiredAnnotation, maxAnnotation } from "./revision-annotations.ts";

interface Sets {
  readonly current?: ReplicaSet;
  readonly old: readonly ReplicaSet[];
}

/** Whether the Deployment was scaled since its sets were given their sizes. */
export function wasScaled(deployment: Deployment, { current, old }: Sets): boolean {
  return activeOf([...old, ...(current ? [current] : [])]).some((set) => {
    const desired = countIn(set, desiredAnnotation);
    return desired !== undefined && desired !== replicasOf(deployment);
  });
}

/**
 * New sizes for a Deployment that was scaled. In the middle of a rollout every set gets its share: were the new set
 * alone to grow, scaling would roll out faster than the strategy allows.
 */
export function decideScale(deployment: Deployment, { current, old }: Sets): readonly Resize[] {
  const replicas = replicasOf(deployment);
  const all = [...old, ...(current ? [current] : [])];
  const active = activeOf(all);
  if (active.length <= 1) {
    const only = active[0] ?? current ?? [...old].sort(byAge).at(-1);
    return only ? [{ set: only, replicas }] : [];
  }
  if (current && isSaturated(deployment, current)) {
    return activeOf(old).map((set) => ({ set, replicas: 0 }));
  }
  if (deployment.spec?.strategy?.type === "Recreate") return [];
  return shareOut(deployment, active);
}

/** All of the Deployment's pods are in this set, and available. */
function isSaturated(deployment: Deployment, set: ReplicaSet): boolean {
  const replicas = replicasOf(deployment);
  return (
    sizeOf(set) === replicas && countIn(set, desiredAnnotation) === replicas && availableOf(set) === replicas
  );
}

function shareOut(deployment: Deployment, active: readonly ReplicaSet[]): readonly Resize[] {
  const replicas = replicasOf(deployment);
  const allowed = replicas > 0 ? replicas + rollingLimits(deployment).maxSurge : 0;
  const toAdd = allowed - sum(active, sizeOf);
  // The largest first; among equals the newest grows first and the oldest shrinks first.
  const sorted = [...active].sort((a, b) => sizeOf(b) - sizeOf(a) || (toAdd > 0 ? byAge(b, a) : byAge(a, b)));
  let added = 0;
  const shares = sorted.map((set) => {
    const share = proportion(deployment, set, { toAdd, left: toAdd - added });
    added += share;
    return { set, replicas: sizeOf(set) + share };
  });
  const [largest, ...others] = shares;
  if (!largest) return [];
  return [{ ...largest, replicas: Math.max(0, largest.replicas + toAdd - added) }, ...others];
}

function proportion(
  deployment: Deployment,
  set: ReplicaSet,
  { toAdd, left }: { readonly toAdd: number; readonly left: number },
): number {
  if (toAdd === 0 || left === 0) return 0;
  const fraction = fractionOf(deployment, set);
  return toAdd > 0 ? Math.min(fraction, left) : Math.max(fraction, left);
}

function fractionOf(deployment: Deployment, set: ReplicaSet): number {
  const replicas = replicasOf(deployment);
  const size = sizeOf(set);
  if (replicas === 0) return -size;
  const before = countIn(set, maxAnnotation) || (deployment.status?.replicas ?? 0);
  if (before === 0) return 0;
  return Math.round((size * (replicas + rollingLimits(deployment).maxSurge)) / before) - size;
}

function activeOf(sets: readonly ReplicaSet[]): readonly ReplicaSet[] {
  return sets.filter((set) => sizeOf(set) > 0);
}

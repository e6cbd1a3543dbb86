import type { Deployment, ReplicaSet } from "../../api/meta/objects.ts";
import {
  availableOf,
  byAge,
  countIn,
  desiredAnnotation,
  maxAnnotation,
  replicasOf,
  rollingLimits,
  sizeOf,
  sum,
} from "./replica-sets.ts";

export interface Resize {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

interface Rollout {
  /** ReplicaSet with the Deployment's template. */
  readonly current: ReplicaSet;
  readonly old: readonly ReplicaSet[];
}

/** Maximum size of the current ReplicaSet at this point of the rollout. */
export function sizeOfCurrent(
  deployment: Deployment,
  { size, all }: { readonly size: number; readonly all: readonly ReplicaSet[] },
): number {
  const replicas = replicasOf(deployment);
  if (deployment.spec?.strategy?.type === "Recreate") return replicas;
  if (size >= replicas) return replicas;
  const available = replicas + rollingLimits(deployment).maxSurge - sum(all, sizeOf);
  return size + Math.max(0, Math.min(available, replicas - size));
}

/** One step of a rolling update: scale up, then scale down. Empty if the rollout is complete or waits for pods. */
export function decideRolling(deployment: Deployment, { current, old }: Rollout): readonly Resize[] {
  const size = sizeOf(current);
  const replicas = sizeOfCurrent(deployment, { size, all: [...old, current] });
  if (replicas !== size) return [{ set: current, replicas }];
  return scaleDown(deployment, { current, old });
}

/**
 * Unavailable pods of old ReplicaSets are deleted first, because they would block the rollout; then as many available
 * ones as minAvailable allows. Unavailable pods of the new ReplicaSet never cause more old pods to be deleted.
 */
function scaleDown(deployment: Deployment, { current, old }: Rollout): readonly Resize[] {
  const active = old.filter((set) => sizeOf(set) > 0).sort(byAge);
  const minAvailable = replicasOf(deployment) - rollingLimits(deployment).maxUnavailable;
  const unavailable = sizeOf(current) - availableOf(current);
  const total = sum([...active, current], sizeOf);
  let mayGo = total - minAvailable - unavailable;
  if (active.length === 0 || mayGo <= 0) return [];

  const sizes = new Map(active.map((set) => [set, sizeOf(set)]));
  const shrink = (set: ReplicaSet, by: number) => sizes.set(set, (sizes.get(set) ?? 0) - by);
  for (const set of active) {
    const broken = Math.max(0, Math.min(mayGo, sizeOf(set) - availableOf(set)));
    mayGo -= broken;
    shrink(set, broken);
  }
  let spare = sum([...active, current], availableOf) - minAvailable;
  for (const set of active) {
    const going = Math.max(0, Math.min(spare, sizes.get(set) ?? 0));
    spare -= going;
    shrink(set, going);
  }
  return active
    .map((set) => ({ set, replicas: sizes.get(set) ?? 0 }))
    .filter(({ set, replicas }) => replicas !== sizeOf(set));
}

interface Sets {
  readonly current?: ReplicaSet;
  readonly old: readonly ReplicaSet[];
}

/** Whether the Deployment was scaled since its ReplicaSets were last sized. */
export function wasScaled(deployment: Deployment, { current, old }: Sets): boolean {
  return activeOf([...old, ...(current ? [current] : [])]).some((set) => {
    const desired = countIn(set, desiredAnnotation);
    return desired !== undefined && desired !== replicasOf(deployment);
  });
}

/**
 * New sizes after the Deployment was scaled. During a rollout every ReplicaSet is scaled in proportion: if only the new
 * one grew, scaling would roll out faster than the strategy allows.
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
  return scaleProportionally(deployment, active);
}

/** Whether this ReplicaSet has all of the Deployment's pods and they are available. */
function isSaturated(deployment: Deployment, set: ReplicaSet): boolean {
  const replicas = replicasOf(deployment);
  return (
    sizeOf(set) === replicas && countIn(set, desiredAnnotation) === replicas && availableOf(set) === replicas
  );
}

function scaleProportionally(deployment: Deployment, active: readonly ReplicaSet[]): readonly Resize[] {
  const replicas = replicasOf(deployment);
  const allowed = replicas > 0 ? replicas + rollingLimits(deployment).maxSurge : 0;
  const toAdd = allowed - sum(active, sizeOf);
  // Largest first; of equal sizes the newest grows first and the oldest shrinks first.
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

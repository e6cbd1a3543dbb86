import type { Deployment, ReplicaSet } from "../../api/objects.ts";
import { availableOf, byAge, replicasOf, rollingLimits, sizeOf, sum } from "./replica-set-size.ts";

export interface Resize {
  readonly set: ReplicaSet;
  readonly replicas: number;
}

interface Rollout {
  /** With the Deployment's template. */
  readonly current: ReplicaSet;
  readonly old: readonly ReplicaSet[];
}

/** How large the set with the new template may be now. */
export function sizeOfCurrent(
  deployment: Deployment,
  { size, all }: { readonly size: number; readonly all: readonly ReplicaSet[] },
): number {
  const replicas = replicasOf(deployment);
  if (deployment.spec?.strategy?.type === "Recreate") return replicas;
  if (size >= replicas) return replicas;
  const room = replicas + rollingLimits(deployment).maxSurge - sum(all, sizeOf);
  return size + Math.max(0, Math.min(room, replicas - size));
}

/** One step of a rolling update: first up, then down. None when it is done, or waits for pods. */
export function decideRolling(deployment: Deployment, { current, old }: Rollout): readonly Resize[] {
  const size = sizeOf(current);
  const replicas = sizeOfCurrent(deployment, { size, all: [...old, current] });
  if (replicas !== size) return [{ set: current, replicas }];
  return scaleDown(deployment, { current, old });
}

/**
 * Pods of old sets that are not available go first: they are of no use, and would hold up the rollout. Then as many of
 * those that are available as there are more than needed. Unavailable pods of the new set never cost the old ones more.
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

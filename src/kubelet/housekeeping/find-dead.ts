import type { ObservedContainer, ObservedPod, ObservedSandbox } from "../observed-pod.ts";

export interface Dead {
  readonly containers: readonly ObservedContainer[];
  readonly sandboxes: readonly ObservedSandbox[];
}

/**
 * What nobody will ask for again in a pod that lives: of each container all attempts but the last one that ended (its
 * log and exit code are still of interest), and sandboxes that no container is left of.
 */
export function findDead({ containers, sandboxes }: ObservedPod): Dead {
  const kept = new Map<string, number>();
  const dead = containers.filter(({ name, state }) => {
    if (state.kind !== "exited") return false;
    const before = kept.get(name) ?? 0;
    kept.set(name, before + 1);
    return before > 0;
  });
  const deadIds = new Set(dead.map(({ id }) => id));
  const [newest, ...older] = sandboxes;
  const inUse = new Set(containers.filter(({ id }) => !deadIds.has(id)).map(({ sandboxId }) => sandboxId));
  return {
    containers: dead,
    sandboxes: newest ? older.filter(({ id, ready }) => !ready && !inUse.has(id)) : [],
  };
}

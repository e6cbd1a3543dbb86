import type { Pod, ReplicaSet } from "../../api/objects.ts";
import { podsToDelete } from "./pods-to-delete.ts";

export type ReplicasPlan =
  | { readonly kind: "keep" }
  | { readonly kind: "create"; readonly count: number }
  | { readonly kind: "delete"; readonly pods: readonly Pod[] };

interface Facts {
  readonly set: ReplicaSet;
  /** Those of the set that run or are going to. */
  readonly active: readonly Pod[];
  /** The active pods of all sets with the same owner. */
  related(): readonly Pod[];
  readonly now: number;
}

/** As many pods as are created or deleted before the next look. */
const maxBurst = 500;

export function decideReplicas({ set, active, related, now }: Facts): ReplicasPlan {
  if (set.metadata.deletionTimestamp) return { kind: "keep" };
  const missing = (set.spec?.replicas ?? 1) - active.length;
  if (missing > 0) return { kind: "create", count: Math.min(missing, maxBurst) };
  if (missing === 0) return { kind: "keep" };
  const count = Math.min(-missing, maxBurst);
  return { kind: "delete", pods: podsToDelete(active, count, { related: related(), now }) };
}

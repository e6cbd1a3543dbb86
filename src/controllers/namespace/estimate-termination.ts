import type { Pod } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";

/** How long a finalizer's owner may take, as upstream supposes. */
const finalizerSeconds = 15;

interface Remains {
  readonly deletedAtMs: number;
  readonly now: number;
  /** Of the objects that are left, some are held by finalizers. */
  readonly hasFinalizers: boolean;
  /** Those that were there before the attempt, where it was one at pods. */
  readonly pods: readonly Pod[];
}

/** How many seconds what is left of a kind may still take; 0 when nothing accounts for it. */
export function estimateTermination({ deletedAtMs, now, hasFinalizers, pods }: Remains): number {
  const graceSeconds = pods
    .filter((pod) => !hasEnded(pod))
    .reduce((longest, { spec }) => Math.max(longest, spec?.terminationGracePeriodSeconds ?? 0), 0);
  if (now - deletedAtMs < graceSeconds * 1_000) return graceSeconds;
  return hasFinalizers ? finalizerSeconds : 0;
}

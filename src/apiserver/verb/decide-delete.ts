import { formatTime } from "../../api/format-time.ts";
import type { DeleteOptions, KubeObject, ObjectMeta } from "../../api/objects.ts";

/** What a delete does to an object. */
export type DeletePlan =
  /** Nothing keeps it: it goes now. */
  | { readonly kind: "remove" }
  /** Someone has to finish first (a kubelet, a finalizer's owner): it is marked and stays for now. */
  | { readonly kind: "mark"; readonly metadata: ObjectMeta }
  /** It is being deleted already and this delete changes nothing. */
  | { readonly kind: "unchanged" };

interface DeleteFacts {
  readonly object: KubeObject;
  readonly options: DeleteOptions;
  /** How long the kind wants between delete and removal; 0 for kinds that go at once. */
  readonly gracePeriodSeconds: number;
  /** Something beside metadata.finalizers keeps the object (a namespace's content). */
  readonly held: boolean;
  readonly now: number;
}

const orphanFinalizer = "orphan";
const foregroundFinalizer = "foregroundDeletion";

export function decideDelete({ object, options, gracePeriodSeconds, held, now }: DeleteFacts): DeletePlan {
  const current = object.metadata;
  const finalizers = finalizersAfter(current.finalizers ?? [], options);
  const mustWait = finalizers.length > 0 || held;
  const grace = graceOf(current, gracePeriodSeconds);

  if (grace === 0 && !mustWait) return { kind: "remove" };

  // With finalizers the object is only marked: they, not a grace period, decide when it goes.
  const deletionGracePeriodSeconds = grace;
  const alreadyMarked = current.deletionTimestamp !== undefined;
  const shorter = alreadyMarked && grace < (current.deletionGracePeriodSeconds ?? 0);
  const finalizersChanged = finalizers.join() !== (current.finalizers ?? []).join();
  if (alreadyMarked && !shorter && !finalizersChanged) return { kind: "unchanged" };

  const metadata: ObjectMeta = { ...current, finalizers };
  if (finalizers.length === 0) delete metadata.finalizers;
  if (!alreadyMarked || shorter) {
    const start = alreadyMarked ? deletionStart(current) : now;
    metadata.deletionTimestamp = formatTime(start + deletionGracePeriodSeconds * 1_000);
    // What is held goes when its holder says so.
    if (!held) metadata.deletionGracePeriodSeconds = deletionGracePeriodSeconds;
    // A kind without generations has none to raise.
    if (!alreadyMarked && (metadata.generation ?? 0) > 0)
      metadata.generation = (metadata.generation ?? 0) + 1;
  }
  return { kind: "mark", metadata };
}

/** A second delete may shorten the grace period, never lengthen it. */
function graceOf(current: ObjectMeta, wanted: number): number {
  if (current.deletionTimestamp === undefined) return wanted;
  return Math.min(wanted, current.deletionGracePeriodSeconds ?? 0);
}

/** When the first delete came: its timestamp lies a grace period behind that, unless it had to be cut. */
function deletionStart({ creationTimestamp = "", ...current }: ObjectMeta): number {
  const graceMs = (current.deletionGracePeriodSeconds ?? 0) * 1_000;
  return Math.max(Date.parse(current.deletionTimestamp ?? "") - graceMs, Date.parse(creationTimestamp) || 0);
}

/** What the propagation policy adds to and takes from the garbage collector's finalizers. */
function finalizersAfter(finalizers: readonly string[], options: DeleteOptions): string[] {
  const wanted = gcFinalizer(finalizers, options);
  const kept = finalizers.filter(
    (name) => (name !== orphanFinalizer && name !== foregroundFinalizer) || name === wanted,
  );
  return wanted && !kept.includes(wanted) ? [...kept, wanted] : kept;
}

function gcFinalizer(finalizers: readonly string[], options: DeleteOptions): string | undefined {
  if (options.orphanDependents === true) return orphanFinalizer;
  if (options.orphanDependents === false) return undefined;
  switch (options.propagationPolicy) {
    case "Orphan":
      return orphanFinalizer;
    case "Foreground":
      return foregroundFinalizer;
    case "Background":
      return undefined;
    default:
      // No policy: a finalizer that an earlier delete or the creator put there stays.
      return finalizers.find((name) => name === orphanFinalizer || name === foregroundFinalizer);
  }
}

import { conditionOf } from "../../api/conditions.ts";
import { formatTime } from "../../api/format-time.ts";
import type { Pod, PodCondition } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";

type StaleTarget =
  | { readonly kind: "none" }
  | { readonly kind: "wait"; readonly againAfterMs: number }
  | { readonly kind: "clear"; readonly condition: PodCondition };

const staleAfterMs = 120_000;

/**
 * A pod that was said to be about to go, and was not deleted: it stays after all. What the kubelet says of itself is
 * not in question, however long it takes.
 */
export function decideStaleTarget(pod: Pod, now: number): StaleTarget {
  const target = conditionOf(pod, "DisruptionTarget");
  const stays = !pod.metadata.deletionTimestamp && !hasEnded(pod);
  if (!stays || target?.status !== "True" || target.reason === "TerminationByKubelet")
    return { kind: "none" };
  const leftMs = Date.parse(target.lastTransitionTime ?? "") + staleAfterMs - now;
  if (leftMs > 0) return { kind: "wait", againAfterMs: leftMs };
  const condition = { type: "DisruptionTarget", status: "False", lastTransitionTime: formatTime(now) };
  return { kind: "clear", condition };
}

import { conditionOf } from "../../api/conditions.ts";
import type { Node, Pod } from "../../api/objects.ts";
import { type Taint, toleratesTaint } from "../../api/tolerates-taint.ts";

type Eviction =
  | { readonly kind: "stay" }
  | { readonly kind: "wait"; readonly againAfterMs: number }
  | { readonly kind: "evict" };

export function evictingTaints(node: Node | undefined): readonly Taint[] {
  return node?.spec?.taints?.filter(({ effect }) => effect === "NoExecute") ?? [];
}

interface Facts {
  readonly taints: readonly Taint[];
  /** When a taint that does not say since when it is there was first seen. */
  readonly seenAt: number;
  readonly now: number;
}

/** Whether a pod has to leave a node because of its taints, and when. */
export function decideEviction(pod: Pod, { taints, seenAt, now }: Facts): Eviction {
  if (pod.metadata.deletionTimestamp) return { kind: "stay" };
  const boundAt = timeOf(conditionOf(pod, "PodScheduled")?.lastTransitionTime) ?? 0;
  let leaveAt = Number.POSITIVE_INFINITY;
  for (const taint of taints) {
    const toleration = pod.spec?.tolerations?.find((candidate) => toleratesTaint(candidate, taint));
    if (!toleration) return { kind: "evict" };
    const { tolerationSeconds } = toleration;
    if (tolerationSeconds === undefined) continue;
    if (tolerationSeconds <= 0) return { kind: "evict" };
    // The API says since when, so that a new controller does not begin to count anew.
    const since = Math.max(timeOf(taint.timeAdded) ?? seenAt, boundAt);
    leaveAt = Math.min(leaveAt, since + tolerationSeconds * 1_000);
  }
  if (leaveAt === Number.POSITIVE_INFINITY) return { kind: "stay" };
  return leaveAt <= now ? { kind: "evict" } : { kind: "wait", againAfterMs: leaveAt - now };
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : time;
}

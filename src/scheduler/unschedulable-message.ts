import type { Rejection } from "./filter/filter.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo } from "./pod-info.ts";

/** Why no node would do: the same for all of them, or node by node. */
export type Refusal =
  | { readonly kind: "pod"; readonly reason: string; readonly nodeCount: number }
  | {
      readonly kind: "nodes";
      readonly rejections: readonly { readonly node: NodeInfo; readonly rejection: Rejection }[];
      /** Nodes that were not looked at, and why. */
      readonly others: { readonly count: number; readonly reason: string };
    };

/** What upstream 1.36 says, to the letter. */
export function unschedulableMessage(pod: PodInfo, refusal: Refusal): string {
  if (refusal.kind === "pod") {
    // Upstream's preemption then misses what a later plugin would have prepared, and says so in these words.
    return `${available(refusal.nodeCount)}: ${refusal.reason}. not found`;
  }
  const { rejections, others } = refusal;
  const count = rejections.length + others.count;
  const reasons = rejections.flatMap(({ rejection }) => rejection.reasons);
  const counted = [...reasons.map(one), { reason: others.reason, count: others.count }];
  return `${available(count)}: ${histogram(counted)}. no new claims to deallocate, preemption: ${preemption(pod, refusal)}`;
}

/** Pods are not driven out for others here; where upstream would look for some, this says why it does not help. */
function preemption(pod: PodInfo, { rejections, others }: Extract<Refusal, { kind: "nodes" }>): string {
  if (pod.pod.spec?.preemptionPolicy === "Never") return "not eligible due to preemptionPolicy=Never.";
  const reasons = rejections.map(({ node, rejection }) => {
    if (!rejection.canPodsHelp) return notHelpful;
    return hasLesserPods(node, pod) ? notDone : "No preemption victims found for incoming pod";
  });
  const counted = [...reasons.map(one), { reason: notHelpful, count: others.count }];
  return `${available(rejections.length + others.count)}: ${histogram(counted)}.`;
}

const notHelpful = "Preemption is not helpful for scheduling";
const notDone = "Preemption is not done by this scheduler";

function hasLesserPods({ pods }: NodeInfo, { priority }: PodInfo): boolean {
  for (const pod of pods) if (pod.priority < priority) return true;
  return false;
}

function available(count: number): string {
  return `0/${count} nodes are available`;
}

interface Counted {
  readonly reason: string;
  readonly count: number;
}

function one(reason: string): Counted {
  return { reason, count: 1 };
}

/** Sorted as texts, numbers and all: `1 b, 10 a, 2 a`. */
function histogram(reasons: readonly Counted[]): string {
  const counts = new Map<string, number>();
  for (const { reason, count } of reasons) {
    if (count > 0) counts.set(reason, (counts.get(reason) ?? 0) + count);
  }
  return [...counts]
    .map(([reason, count]) => `${count} ${reason}`)
    .sort()
    .join(", ");
}

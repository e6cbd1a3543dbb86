import type { Rejection } from "../filters/filter.ts";
import type { NodeInfo } from "../model/node-info.ts";
import type { PodInfo } from "../model/pod-info.ts";

/** Reason why no node is feasible: one reason for the whole pod, or one rejection per node. */
export type NoFeasibleNode =
  | { readonly kind: "pod"; readonly reason: string; readonly nodeCount: number }
  | {
      readonly kind: "nodes";
      readonly rejections: readonly { readonly node: NodeInfo; readonly rejection: Rejection }[];
      /** Nodes that were not examined, with their common reason. */
      readonly others: { readonly count: number; readonly reason: string };
    };

/** Builds the message of the PodScheduled condition, identical to that of upstream 1.36. */
export function unschedulableMessage(pod: PodInfo, rejected: NoFeasibleNode): string {
  if (rejected.kind === "pod") {
    // Upstream's preemption then fails to find the state of a later plugin and reports "not found".
    return `${available(rejected.nodeCount)}: ${rejected.reason}. not found`;
  }
  const { rejections, others } = rejected;
  const count = rejections.length + others.count;
  const reasons = rejections.flatMap(({ rejection }) => rejection.reasons);
  const counted = [...reasons.map(one), { reason: others.reason, count: others.count }];
  return `${available(count)}: ${histogram(counted)}. no new claims to deallocate, preemption: ${preemption(pod, rejected)}`;
}

/** This scheduler does not preempt pods. Where upstream would, the message says that preemption is not done. */
function preemption(
  pod: PodInfo,
  { rejections, others }: Extract<NoFeasibleNode, { kind: "nodes" }>,
): string {
  if (pod.pod.spec?.preemptionPolicy === "Never") return "not eligible due to preemptionPolicy=Never.";
  const reasons = rejections.map(({ node, rejection }) => {
    if (!rejection.isResolvable) return notHelpful;
    return hasLowerPriorityPods(node, pod)
      ? preemptionNotSupported
      : "No preemption victims found for incoming pod";
  });
  const counted = [...reasons.map(one), { reason: notHelpful, count: others.count }];
  return `${available(rejections.length + others.count)}: ${histogram(counted)}.`;
}

const notHelpful = "Preemption is not helpful for scheduling";
const preemptionNotSupported = "Preemption is not done by this scheduler";

function hasLowerPriorityPods({ pods }: NodeInfo, { priority }: PodInfo): boolean {
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

/** Formats counted reasons, sorted as strings like upstream: `1 b, 10 a, 2 a`. */
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

import type { NodeInfo } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";
import { affinityScore } from "./inter-pod-affinity-score.ts";
import { imageLocality, preferredAffinity, toleratedTaints } from "./node-scores.ts";
import { balancedAllocation, leastAllocated } from "./resource-scores.ts";
import type { Scorer } from "./scorer.ts";
import { spreadScore } from "./topology-spread-score.ts";

const scorers: readonly Scorer[] = [
  toleratedTaints,
  preferredAffinity,
  leastAllocated,
  spreadScore,
  affinityScore,
  balancedAllocation,
  imageLocality,
];

/** How good each of the nodes is for the pod, in their order. */
export function scoreNodes(pod: PodInfo, snapshot: Snapshot, nodes: readonly NodeInfo[]): Float64Array {
  const totals = new Float64Array(nodes.length);
  const scores = new Float64Array(nodes.length);
  for (const { weight, prepare, normalize } of scorers) {
    const score = prepare(pod, snapshot, nodes);
    if (!score) continue;
    for (const [i, node] of nodes.entries()) scores[i] = score(node);
    normalize?.(scores);
    for (const [i, value] of scores.entries()) totals[i] = (totals[i] ?? 0) + weight * value;
  }
  return totals;
}

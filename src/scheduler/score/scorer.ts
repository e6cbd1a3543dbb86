import type { NodeInfo } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";

/** Says which of the nodes that can do are better than others. Scores go from 0 to 100 in the end. */
export interface Scorer {
  readonly weight: number;
  /** Undefined when all nodes are alike for this pod. */
  prepare(
    pod: PodInfo,
    snapshot: Snapshot,
    nodes: readonly NodeInfo[],
  ): ((node: NodeInfo) => number) | undefined;
  /** Brings what it said of all nodes into that range, in place. */
  normalize?(scores: Float64Array): void;
}

export const maxScore = 100;

/** The largest becomes 100. */
export function scaleToMax(scores: Float64Array): void {
  const largest = scores.reduce((a, b) => Math.max(a, b), 0);
  if (largest === 0) return;
  for (const [i, score] of scores.entries()) scores[i] = Math.floor((maxScore * score) / largest);
}

/** The largest becomes 0: less is better. */
export function scaleToMaxReversed(scores: Float64Array): void {
  scaleToMax(scores);
  for (const [i, score] of scores.entries()) scores[i] = maxScore - score;
}

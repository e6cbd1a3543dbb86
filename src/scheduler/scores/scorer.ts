import type { Snapshot } from "../model/informers.ts";
import type { NodeInfo } from "../model/node-info.ts";
import type { PodInfo } from "../model/pod-info.ts";

/** Score plugin. Normalized scores range from 0 to 100. */
export interface Scorer {
  readonly weight: number;
  /** Returns undefined when all nodes score equally for this pod. */
  prepare(
    pod: PodInfo,
    snapshot: Snapshot,
    nodes: readonly NodeInfo[],
  ): ((node: NodeInfo) => number) | undefined;
  /** Normalizes the scores of all nodes in place. */
  normalize?(scores: Float64Array): void;
}

export const maxScore = 100;

/** Scales scores so that the largest becomes 100. */
export function scaleToMax(scores: Float64Array): void {
  const largest = scores.reduce((a, b) => Math.max(a, b), 0);
  if (largest === 0) return;
  for (const [i, score] of scores.entries()) scores[i] = Math.floor((maxScore * score) / largest);
}

/** Scales scores so that the largest becomes 0: lower is better. */
export function scaleToMaxReversed(scores: Float64Array): void {
  scaleToMax(scores);
  for (const [i, score] of scores.entries()) scores[i] = maxScore - score;
}

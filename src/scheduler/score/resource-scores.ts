import type { NodeInfo } from "../node-info.ts";
import { maxScore, type Scorer } from "./scorer.ts";

/** Prefers nodes with more left. */
export const leastAllocated: Scorer = {
  weight: 1,
  prepare: ({ likely }) => {
    return ({ allocatable, likely: taken }) => {
      let score = 0;
      let resources = 0;
      for (const name of ["cpu", "memory"] as const) {
        const capacity = allocatable[name];
        if (capacity === 0) continue;
        const requested = taken[name] + likely[name];
        if (requested <= capacity) score += Math.floor(((capacity - requested) * maxScore) / capacity);
        resources++;
      }
      return resources === 0 ? 0 : Math.floor(score / resources);
    };
  },
};

/** Prefers nodes on which CPU and memory are then used in like measure. */
export const balancedAllocation: Scorer = {
  weight: 1,
  prepare({ requests: { cpu, memory } }) {
    if (cpu === 0 && memory === 0) return undefined;
    return (node) => {
      const change = balanceWith(node, cpu, memory) - balanceWith(node, 0, 0);
      return maxScore / 2 + Math.trunc((maxScore / 2 + change) / 2);
    };
  },
};

/** 100 when both are used in the same measure, down to 50. */
function balanceWith({ allocatable, requested }: NodeInfo, cpu: number, memory: number): number {
  // With one kind of resource there is nothing to balance.
  if (allocatable.cpu === 0 || allocatable.memory === 0) return maxScore;
  const ofCpu = Math.min(1, (requested.cpu + cpu) / allocatable.cpu);
  const ofMemory = Math.min(1, (requested.memory + memory) / allocatable.memory);
  return Math.trunc((1 - Math.abs(ofCpu - ofMemory) / 2) * maxScore);
}

import { preferredNodes } from "../../api/pod/node-matcher.ts";
import { type NodeInfo, tolerates } from "../model/node-info.ts";
import { maxScore, type Scorer, scaleToMax, scaleToMaxReversed } from "./scorer.ts";

/** Prefers nodes with fewer PreferNoSchedule taints that the pod does not tolerate. */
export const toleratedTaints: Scorer = {
  weight: 3,
  prepare({ pod }) {
    const tolerations = pod.spec?.tolerations?.filter(
      ({ effect }) => !effect || effect === "PreferNoSchedule",
    );
    return ({ node }) => {
      const taints = node.spec?.taints;
      if (!taints) return 0;
      const unwanted = taints.filter((taint) => taint.effect === "PreferNoSchedule");
      return unwanted.filter((taint) => !tolerates(tolerations, taint)).length;
    };
  },
  normalize: scaleToMaxReversed,
};

/** Prefers nodes that match the pod's preferred node affinity. */
export const preferredAffinity: Scorer = {
  weight: 2,
  prepare({ pod }) {
    const preferred = preferredNodes(pod);
    if (preferred.length === 0) return undefined;
    return (node) => preferred.reduce((sum, { weight, matches }) => sum + (matches(node) ? weight : 0), 0);
  },
  normalize: scaleToMax,
};

const megabyte = 1024 * 1024;
const smallestImage = 23 * megabyte;
const largestImage = 1_000 * megabyte;

/** Prefers nodes that have the pod's images, weighted by size and by the share of nodes that have them. */
export const imageLocality: Scorer = {
  weight: 1,
  prepare({ pod }, snapshot) {
    const { initContainers = [], containers = [], volumes = [] } = pod.spec ?? {};
    const all = [...initContainers, ...containers];
    const mounted = volumes.flatMap(({ image }) => image?.reference ?? []);
    const images = [...all.map(({ image }) => image ?? ""), ...mounted]
      .map(withTag)
      .map((name) => ({ name, spread: snapshot.imageSpread(name) / snapshot.nodes.length }))
      .filter(({ spread }) => spread > 0);
    if (images.length === 0) return undefined;
    const most = largestImage * all.length;
    return (node) => {
      const sum = images.reduce(
        (total, { name, spread }) => total + Math.trunc((node.images.get(name) ?? 0) * spread),
        0,
      );
      const within = Math.min(most, Math.max(smallestImage, sum));
      return Math.floor((maxScore * (within - smallestImage)) / (most - smallestImage));
    };
  },
};

function withTag(image: string): string {
  return image.lastIndexOf(":") <= image.lastIndexOf("/") ? `${image}:latest` : image;
}

/** Prefers nodes with more unallocated resources. */
export const leastAllocated: Scorer = {
  weight: 1,
  prepare: ({ nonZeroRequests }) => {
    return ({ allocatable, nonZeroRequests: taken }) => {
      let score = 0;
      let resources = 0;
      for (const name of ["cpu", "memory"] as const) {
        const capacity = allocatable[name];
        if (capacity === 0) continue;
        const requested = taken[name] + nonZeroRequests[name];
        if (requested <= capacity) score += Math.floor(((capacity - requested) * maxScore) / capacity);
        resources++;
      }
      return resources === 0 ? 0 : Math.floor(score / resources);
    };
  },
};

/** Prefers nodes whose CPU and memory utilization is balanced. */
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

/** Balance from 50 (one resource fully used, the other unused) to 100 (equal utilization). */
function balanceWith({ allocatable, requested }: NodeInfo, cpu: number, memory: number): number {
  // A single resource is always balanced.
  if (allocatable.cpu === 0 || allocatable.memory === 0) return maxScore;
  const ofCpu = Math.min(1, (requested.cpu + cpu) / allocatable.cpu);
  const ofMemory = Math.min(1, (requested.memory + memory) / allocatable.memory);
  return Math.trunc((1 - Math.abs(ofCpu - ofMemory) / 2) * maxScore);
}

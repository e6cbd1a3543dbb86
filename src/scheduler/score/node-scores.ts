import { preferredNodes } from "../../api/node-matcher.ts";
import { tolerates } from "../filter/tolerates.ts";
import { maxScore, type Scorer, scaleToMax, scaleToMaxReversed } from "./scorer.ts";

/** Prefers nodes with fewer taints that ask pods to stay away. */
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

/** Prefers the nodes that the pod prefers. */
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

/** Prefers nodes that have the pod's images, the more so the larger they are and the more nodes have them. */
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

import { queryOfAll, resolveNamespaces } from "../affinity-query.ts";
import { matchesTerm, type WeightedTerm } from "../affinity-term.ts";
import { labelOf } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";
import type { TermGroup } from "../term-groups.ts";
import { addToTopologies, type TopologyTotals } from "../topology-totals.ts";
import { maxScore, type Scorer } from "./scorer.ts";

/** What a pod that must be near others of a kind is worth to those. */
const hardWeight = 1;

/** Prefers nodes near the pods that this one prefers, and that prefer this one. */
export const affinityScore: Scorer = {
  weight: 2,
  prepare(pod, snapshot) {
    const totals: TopologyTotals = new Map();
    addOwnWishes(totals, pod, snapshot);
    addOthersWishes(totals, pod, snapshot);
    if (totals.size === 0) return undefined;
    return ({ labels }) => {
      let score = 0;
      for (const [key, values] of totals) {
        const value = labelOf(labels, key);
        if (value !== undefined) score += values.get(value) ?? 0;
      }
      return score;
    };
  },
  normalize(scores) {
    const largest = scores.reduce((a, b) => Math.max(a, b), Number.NEGATIVE_INFINITY);
    const smallest = scores.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    const range = largest - smallest;
    for (const [i, score] of scores.entries()) {
      scores[i] = range > 0 ? Math.trunc((maxScore * (score - smallest)) / range) : 0;
    }
  },
};

function addOwnWishes(totals: TopologyTotals, { affinity }: PodInfo, snapshot: Snapshot): void {
  const add = (wishes: readonly WeightedTerm[], sign: 1 | -1) => {
    for (const { term, weight } of wishes) {
      const perNode = snapshot.count(queryOfAll([resolveNamespaces(term, snapshot)]));
      addToTopologies(totals, term.topologyKey, { perNode, factor: sign * weight, snapshot });
    }
  };
  add(affinity.preferred, 1);
  add(affinity.preferredAnti, -1);
}

function addOthersWishes(totals: TopologyTotals, pod: PodInfo, snapshot: Snapshot): void {
  const namespaceLabels = snapshot.objects.namespaceLabels(pod.namespace);
  const add = (groups: ReadonlyMap<string, TermGroup>, factorOf: (group: TermGroup) => number) => {
    for (const group of groups.values()) {
      if (!matchesTerm(group.term, pod, namespaceLabels)) continue;
      const { perNode, term } = group;
      addToTopologies(totals, term.topologyKey, { perNode, factor: factorOf(group), snapshot });
    }
  };
  add(snapshot.terms.required, () => hardWeight);
  add(snapshot.terms.preferred, ({ weight }) => weight);
  add(snapshot.terms.preferredAnti, ({ weight }) => -weight);
}

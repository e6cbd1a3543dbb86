import { matchesAll, queryOfAll, resolveNamespaces } from "../affinity-query.ts";
import { type AffinityTerm, matchesTerm } from "../affinity-term.ts";
import { labelOf, type NodeInfo } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";
import { addToTopologies, type TopologyTotals } from "../topology-totals.ts";
import { dueToPods, type Filter, final, pass } from "./filter.ts";

const notNear = final("node(s) didn't match pod affinity rules");
const tooNear = dueToPods("node(s) didn't match pod anti-affinity rules");
const unwelcome = dueToPods("node(s) didn't satisfy existing pods anti-affinity rules");

export const interPodAffinity: Filter = {
  name: "InterPodAffinity",
  prepare(pod, snapshot) {
    const resolve = (term: AffinityTerm) => resolveNamespaces(term, snapshot);
    const near = pod.affinity.required.map(resolve);
    const apart = pod.affinity.requiredAnti.map(resolve);
    const refusals = countRefusals(pod, snapshot);
    if (near.length === 0 && apart.length === 0 && refusals.size === 0) return pass;

    const nearby = countNear(near, snapshot);
    const taken = countApart(apart, snapshot);
    // The first of pods that want to be near each other has nobody to be near to.
    const isFirst = nearby.size === 0 && matchesAll(near, pod);
    return {
      kind: "check",
      check(node) {
        if (near.length > 0 && !isNear(node, near, nearby, isFirst)) return notNear;
        if (apart.some(({ topologyKey }) => totalAt(taken, topologyKey, node) > 0)) return tooNear;
        for (const key of refusals.keys()) if (totalAt(refusals, key, node) > 0) return unwelcome;
        return undefined;
      },
    };
  },
};

function isNear(
  node: NodeInfo,
  terms: readonly AffinityTerm[],
  nearby: TopologyTotals,
  isFirst: boolean,
): boolean {
  for (const { topologyKey } of terms) {
    if (labelOf(node.labels, topologyKey) === undefined) return false;
    if (!isFirst && totalAt(nearby, topologyKey, node) <= 0) return false;
  }
  return true;
}

function totalAt(totals: TopologyTotals, topologyKey: string, { labels }: NodeInfo): number {
  const value = labelOf(labels, topologyKey);
  return value === undefined ? 0 : (totals.get(topologyKey)?.get(value) ?? 0);
}

/** Where pods are that do not want this one near. */
function countRefusals(pod: PodInfo, snapshot: Snapshot): TopologyTotals {
  const totals: TopologyTotals = new Map();
  const namespaceLabels = snapshot.objects.namespaceLabels(pod.namespace);
  for (const { term, perNode } of snapshot.terms.requiredAnti.values()) {
    if (!matchesTerm(term, pod, namespaceLabels)) continue;
    addToTopologies(totals, term.topologyKey, { perNode, factor: 1, snapshot });
  }
  return totals;
}

/** Where pods are that match all of the terms. */
function countNear(terms: readonly AffinityTerm[], snapshot: Snapshot): TopologyTotals {
  const totals: TopologyTotals = new Map();
  if (terms.length === 0) return totals;
  const perNode = snapshot.count(queryOfAll(terms));
  for (const { topologyKey } of terms) addToTopologies(totals, topologyKey, { perNode, factor: 1, snapshot });
  return totals;
}

/** Where pods are that match one of the terms, by the topology of that term. */
function countApart(terms: readonly AffinityTerm[], snapshot: Snapshot): TopologyTotals {
  const totals: TopologyTotals = new Map();
  for (const term of terms) {
    const perNode = snapshot.count(queryOfAll([term]));
    addToTopologies(totals, term.topologyKey, { perNode, factor: 1, snapshot });
  }
  return totals;
}

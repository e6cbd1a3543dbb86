import { matchesLabels } from "../../api/meta/selector.ts";
import {
  addToTopologies,
  matchesAll,
  queryOfAll,
  resolveNamespaces,
  type TopologyTotals,
} from "../model/affinity-query.ts";
import { type AffinityTerm, matchesTerm } from "../model/affinity-term.ts";
import type { Snapshot } from "../model/informers.ts";
import { labelOf, type NodeInfo } from "../model/node-info.ts";
import type { PodInfo } from "../model/pod-info.ts";
import { hasAllKeys, readConstraints, type SpreadConstraint } from "../model/spread-constraint.ts";
import { type Filter, pass, resolvable, unresolvable } from "./filter.ts";

const affinityUnmatched = unresolvable("node(s) didn't match pod affinity rules");
const antiAffinityMatched = resolvable("node(s) didn't match pod anti-affinity rules");
const excludedByExisting = resolvable("node(s) didn't satisfy existing pods anti-affinity rules");

export const interPodAffinity: Filter = {
  name: "InterPodAffinity",
  prepare(pod, snapshot) {
    const resolve = (term: AffinityTerm) => resolveNamespaces(term, snapshot);
    const near = pod.affinity.required.map(resolve);
    const apart = pod.affinity.requiredAnti.map(resolve);
    const exclusions = countExclusions(pod, snapshot);
    if (near.length === 0 && apart.length === 0 && exclusions.size === 0) return pass;

    const matching = countMatchingAll(near, snapshot);
    const taken = countMatchingAny(apart, snapshot);
    // The first pod of a group with affinity to itself has no matching pod yet.
    const isFirst = matching.size === 0 && matchesAll(near, pod);
    return {
      kind: "check",
      check(node) {
        if (near.length > 0 && !satisfiesAffinity(node, near, matching, isFirst)) return affinityUnmatched;
        if (apart.some(({ topologyKey }) => totalAt(taken, topologyKey, node) > 0))
          return antiAffinityMatched;
        for (const key of exclusions.keys())
          if (totalAt(exclusions, key, node) > 0) return excludedByExisting;
        return undefined;
      },
    };
  },
};

function satisfiesAffinity(
  node: NodeInfo,
  terms: readonly AffinityTerm[],
  matching: TopologyTotals,
  isFirst: boolean,
): boolean {
  for (const { topologyKey } of terms) {
    if (labelOf(node.labels, topologyKey) === undefined) return false;
    if (!isFirst && totalAt(matching, topologyKey, node) <= 0) return false;
  }
  return true;
}

function totalAt(totals: TopologyTotals, topologyKey: string, { labels }: NodeInfo): number {
  const value = labelOf(labels, topologyKey);
  return value === undefined ? 0 : (totals.get(topologyKey)?.get(value) ?? 0);
}

/** Counts pods whose required anti-affinity excludes this pod, by topology. */
function countExclusions(pod: PodInfo, snapshot: Snapshot): TopologyTotals {
  const totals: TopologyTotals = new Map();
  const namespaceLabels = snapshot.objects.namespaceLabels(pod.namespace);
  for (const { term, perNode } of snapshot.terms.requiredAnti.values()) {
    if (!matchesTerm(term, pod, namespaceLabels)) continue;
    addToTopologies(totals, term.topologyKey, { perNode, factor: 1, snapshot });
  }
  return totals;
}

/** Counts pods that match all terms, by topology. */
function countMatchingAll(terms: readonly AffinityTerm[], snapshot: Snapshot): TopologyTotals {
  const totals: TopologyTotals = new Map();
  if (terms.length === 0) return totals;
  const perNode = snapshot.count(queryOfAll(terms));
  for (const { topologyKey } of terms) addToTopologies(totals, topologyKey, { perNode, factor: 1, snapshot });
  return totals;
}

/** Counts pods that match at least one term, by the topology of that term. */
function countMatchingAny(terms: readonly AffinityTerm[], snapshot: Snapshot): TopologyTotals {
  const totals: TopologyTotals = new Map();
  for (const term of terms) {
    const perNode = snapshot.count(queryOfAll([term]));
    addToTopologies(totals, term.topologyKey, { perNode, factor: 1, snapshot });
  }
  return totals;
}

const tooSkewed = resolvable("node(s) didn't match pod topology spread constraints");
const withoutLabel = unresolvable(
  "node(s) didn't match pod topology spread constraints (missing required label)",
);

export const topologySpread: Filter = {
  name: "PodTopologySpread",
  prepare(pod, snapshot) {
    const constraints = readConstraints(pod, "DoNotSchedule");
    if (constraints.length === 0) return pass;
    const domains = constraints.map((constraint) => countDomains(constraint, constraints, snapshot));
    const isOwn = constraints.map(({ selector }) => Boolean(selector && matchesLabels(selector, pod.labels)));
    return {
      kind: "check",
      check({ labels }) {
        for (const [i, { topologyKey, maxSkew }] of constraints.entries()) {
          const value = labelOf(labels, topologyKey);
          if (value === undefined) return withoutLabel;
          const { counts, least } = domains[i] ?? noDomains;
          const skew = (counts.get(value) ?? 0) + (isOwn[i] ? 1 : 0) - least;
          if (skew > maxSkew) return tooSkewed;
        }
        return undefined;
      },
    };
  },
};

interface Domains {
  readonly counts: ReadonlyMap<string, number>;
  /** Smallest count over all domains. */
  readonly least: number;
}

const noDomains: Domains = { counts: new Map(), least: 0 };

function countDomains(
  constraint: SpreadConstraint,
  all: readonly SpreadConstraint[],
  snapshot: Snapshot,
): Domains {
  const perNode = snapshot.count(constraint.query);
  const counts = new Map<string, number>();
  for (const node of snapshot.nodes) {
    if (!hasAllKeys(node, all) || !constraint.isIncluded(node)) continue;
    const value = labelOf(node.labels, constraint.topologyKey) ?? "";
    counts.set(value, (counts.get(value) ?? 0) + (perNode.get(node.name) ?? 0));
  }
  const least = counts.size < constraint.minDomains ? 0 : Math.min(...counts.values());
  return { counts, least };
}

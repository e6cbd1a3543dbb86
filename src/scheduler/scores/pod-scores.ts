import { controllerOf } from "../../api/meta/object-facts.ts";
import type { LabelSelector } from "../../api/meta/selector.ts";
import { requiredNodes } from "../../api/pod/node-matcher.ts";
import {
  addToTopologies,
  queryOfAll,
  resolveNamespaces,
  type TopologyTotals,
} from "../model/affinity-query.ts";
import { matchesTerm, readSelector, type WeightedTerm } from "../model/affinity-term.ts";
import type { Snapshot } from "../model/informers.ts";
import { labelOf, type NodeInfo } from "../model/node-info.ts";
import type { TermGroup } from "../model/pod-counts.ts";
import type { PodInfo } from "../model/pod-info.ts";
import {
  hasAllKeys,
  makeConstraint,
  readConstraints,
  type SpreadConstraint,
} from "../model/spread-constraint.ts";
import { maxScore, type Scorer } from "./scorer.ts";

const hostname = "kubernetes.io/hostname";

/** Prefers nodes whose topology domain has fewer pods of the same workload. */
export const spreadScore: Scorer = {
  weight: 2,
  prepare(pod, snapshot, nodes) {
    const isOwn = Boolean(pod.pod.spec?.topologySpreadConstraints?.length);
    const constraints = isOwn ? readConstraints(pod, "ScheduleAnyway") : defaultConstraints(pod, snapshot);
    if (constraints.length === 0) return undefined;
    // Nodes without the pod's own topology keys are ignored; default constraints do not require the keys.
    const counts = (node: NodeInfo) => !isOwn || hasAllKeys(node, constraints);
    const counted = nodes.filter(counts);
    const parts = constraints.map((constraint) => scoreConstraint(constraint, { counted, counts, snapshot }));
    return (node) => (counts(node) ? Math.round(parts.reduce((sum, part) => sum + part(node), 0)) : ignored);
  },
  normalize(scores) {
    const valid = scores.filter((score) => score !== ignored);
    const largest = valid.reduce((a, b) => Math.max(a, b), 0);
    const smallest = valid.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY);
    for (const [i, score] of scores.entries()) {
      if (score === ignored) scores[i] = 0;
      else if (largest === 0) scores[i] = maxScore;
      else scores[i] = Math.floor((maxScore * (largest + smallest - score)) / largest);
    }
  },
};

const ignored = -1;

interface Candidates {
  readonly counted: readonly NodeInfo[];
  readonly counts: (node: NodeInfo) => boolean;
  readonly snapshot: Snapshot;
}

function scoreConstraint(constraint: SpreadConstraint, candidates: Candidates): (node: NodeInfo) => number {
  const { topologyKey, maxSkew, query } = constraint;
  const { counted, counts, snapshot } = candidates;
  const perNode = snapshot.count(query);
  // As upstream: `maxSkew - 1` reduces the weight of differences that the constraint tolerates.
  const score = (count: number, domains: number) => count * Math.log(domains + 2) + (maxSkew - 1);
  if (topologyKey === hostname) {
    return ({ name, labels }) =>
      labelOf(labels, hostname) === undefined ? 0 : score(perNode.get(name) ?? 0, counted.length);
  }
  const totals = new Map(counted.map(({ labels }) => [labelOf(labels, topologyKey) ?? "", 0]));
  for (const [nodeName, count] of perNode) {
    const node = snapshot.node(nodeName);
    if (!node || !counts(node) || !constraint.isIncluded(node)) continue;
    const value = labelOf(node.labels, topologyKey) ?? "";
    const total = totals.get(value);
    if (total !== undefined) totals.set(value, total + count);
  }
  return ({ labels }) => {
    const value = labelOf(labels, topologyKey);
    return value === undefined ? 0 : score(totals.get(value) ?? 0, totals.size);
  };
}

/** Default constraints: pods of one workload are spread over nodes and zones (upstream: System defaults). */
function defaultConstraints(pod: PodInfo, snapshot: Snapshot): readonly SpreadConstraint[] {
  const selector = workloadSelector(pod, snapshot);
  if (selector.length === 0) return [];
  const required = requiredNodes(pod.pod);
  return [
    makeConstraint(pod, required, { topologyKey: hostname, maxSkew: 3, selector }),
    makeConstraint(pod, required, { topologyKey: "topology.kubernetes.io/zone", maxSkew: 5, selector }),
  ];
}

/** Combined selector of the pod's services and its owner. */
function workloadSelector({ pod, namespace, labels }: PodInfo, { objects }: Snapshot): LabelSelector {
  const equal = new Map<string, string>();
  for (const { spec } of objects.servicesIn(namespace)) {
    const wanted = Object.entries(spec?.selector ?? {});
    if (!spec?.selector || !wanted.every(([key, value]) => labelOf(labels, key) === value)) continue;
    for (const [key, value] of wanted) equal.set(key, value);
  }
  const owner = controllerOf(pod);
  const ofOwner = owner && readSelector(ownerSelector(owner, namespace, objects));
  return [
    ...[...equal].map(([key, value]) => ({ key, operator: "=" as const, values: [value] })),
    ...(ofOwner ?? []),
  ];
}

function ownerSelector(
  { apiVersion, kind, name }: { apiVersion: string; kind: string; name: string },
  namespace: string,
  objects: Snapshot["objects"],
) {
  if (apiVersion !== "apps/v1") return undefined;
  const key = `${namespace}/${name}`;
  if (kind === "ReplicaSet") return objects.replicaSet(key)?.spec?.selector;
  return kind === "StatefulSet" ? objects.statefulSet(key)?.spec?.selector : undefined;
}

/** Weight of required affinity terms of existing pods (upstream: hardPodAffinityWeight). */
const hardWeight = 1;

/** Prefers nodes near pods that this pod prefers, and near pods that prefer this one. */
export const affinityScore: Scorer = {
  weight: 2,
  prepare(pod, snapshot) {
    const totals: TopologyTotals = new Map();
    addOwnPreferences(totals, pod, snapshot);
    addOthersPreferences(totals, pod, snapshot);
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

function addOwnPreferences(totals: TopologyTotals, { affinity }: PodInfo, snapshot: Snapshot): void {
  const add = (preferences: readonly WeightedTerm[], sign: 1 | -1) => {
    for (const { term, weight } of preferences) {
      const perNode = snapshot.count(queryOfAll([resolveNamespaces(term, snapshot)]));
      addToTopologies(totals, term.topologyKey, { perNode, factor: sign * weight, snapshot });
    }
  };
  add(affinity.preferred, 1);
  add(affinity.preferredAnti, -1);
}

function addOthersPreferences(totals: TopologyTotals, pod: PodInfo, snapshot: Snapshot): void {
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

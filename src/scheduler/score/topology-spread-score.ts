import { controllerOf } from "../../api/controller-reference.ts";
import { requiredNodes } from "../../api/node-matcher.ts";
import type { LabelSelector } from "../../api/selector.ts";
import { readSelector } from "../affinity-term.ts";
import { labelOf, type NodeInfo } from "../node-info.ts";
import type { PodInfo } from "../pod-info.ts";
import type { Snapshot } from "../snapshot.ts";
import { hasAllKeys, makeConstraint, readConstraints, type SpreadConstraint } from "../spread-constraint.ts";
import { maxScore, type Scorer } from "./scorer.ts";

const hostname = "kubernetes.io/hostname";

/** Prefers nodes in whose topology fewer pods of the same kind are. */
export const spreadScore: Scorer = {
  weight: 2,
  prepare(pod, snapshot, nodes) {
    const isOwn = Boolean(pod.pod.spec?.topologySpreadConstraints?.length);
    const constraints = isOwn ? readConstraints(pod, "ScheduleAnyway") : defaultConstraints(pod, snapshot);
    if (constraints.length === 0) return undefined;
    // Nodes without the pod's own keys are out of the question; defaults apply as far as the keys are there.
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
  // `maxSkew - 1` waters differences down: they matter less where more of them is allowed.
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

/** Pods of one workload are spread over nodes and zones also when nobody asks for it. */
function defaultConstraints(pod: PodInfo, snapshot: Snapshot): readonly SpreadConstraint[] {
  const selector = workloadSelector(pod, snapshot);
  if (selector.length === 0) return [];
  const required = requiredNodes(pod.pod);
  return [
    makeConstraint(pod, required, { topologyKey: hostname, maxSkew: 3, selector }),
    makeConstraint(pod, required, { topologyKey: "topology.kubernetes.io/zone", maxSkew: 5, selector }),
  ];
}

/** What the pod's services and its owner select pods by. */
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

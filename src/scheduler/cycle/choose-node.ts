import type { Check, Filter, PluginName, Rejection } from "../filters/filter.ts";
import {
  nodeAffinity,
  nodeName,
  nodePorts,
  nodeUnschedulable,
  resourcesFit,
  taintToleration,
} from "../filters/node-filters.ts";
import { interPodAffinity, topologySpread } from "../filters/pod-filters.ts";
import { volumeBinding, volumeRestrictions, volumeZone } from "../filters/volume-filters.ts";
import type { Snapshot } from "../model/informers.ts";
import type { NodeInfo } from "../model/node-info.ts";
import type { PodInfo } from "../model/pod-info.ts";
import {
  balancedAllocation,
  imageLocality,
  leastAllocated,
  preferredAffinity,
  toleratedTaints,
} from "../scores/node-scores.ts";
import { affinityScore, spreadScore } from "../scores/pod-scores.ts";
import type { Scorer } from "../scores/scorer.ts";
import { emptyPlan, planForNode, sortClaims, type VolumePlan } from "../volumes/plan-volumes.ts";
import { unschedulableMessage } from "./unschedulable-message.ts";

/** Filter plugins in upstream's order. The first plugin that rejects a node supplies the reason. */
const filters: readonly Filter[] = [
  nodeUnschedulable,
  nodeName,
  taintToleration,
  nodeAffinity,
  nodePorts,
  resourcesFit,
  volumeRestrictions,
  volumeBinding,
  volumeZone,
  topologySpread,
  interPodAffinity,
];

export type Choice =
  | {
      readonly kind: "node";
      readonly nodeName: string;
      readonly volumes: VolumePlan;
      /** Number of nodes examined. The next search starts after them. */
      readonly examined: number;
    }
  | {
      readonly kind: "none";
      readonly message: string;
      /** Plugins that rejected at least one node. When empty, any cluster change requeues the pod. */
      readonly rejectedBy: ReadonlySet<PluginName>;
    };

export interface ChoiceOptions {
  /** Random number in [0, 1), used to choose between nodes with equal scores. */
  readonly random: () => number;
  /** Index of the node at which the search starts. */
  readonly startAt: number;
}

/** Chooses a node for a pod. Throws when the decision is impossible, for example when an object is invalid. */
export function chooseNode(pod: PodInfo, snapshot: Snapshot, options: ChoiceOptions): Choice {
  const { nodes } = snapshot;
  if (nodes.length === 0)
    return { kind: "none", message: "no nodes available to schedule pods", rejectedBy: new Set() };

  const prepared = prepareChecks(pod, snapshot);
  if (prepared.kind === "reject") {
    const { reason, by } = prepared;
    const message = unschedulableMessage(pod, { kind: "pod", reason, nodeCount: nodes.length });
    return { kind: "none", message, rejectedBy: new Set([by]) };
  }
  const { checks, nodeNames } = prepared;
  const eligible = nodeNames ? [...nodeNames].flatMap((name) => snapshot.node(name) ?? []) : nodes;
  const nominated = snapshot.node(pod.pod.status?.nominatedNodeName ?? "");
  if (nominated && eligible.includes(nominated) && !findRejection(checks, nominated)) {
    return chosen(pod, nominated, snapshot, 0);
  }

  const { feasible, rejected } = search(checks, eligible, options.startAt);
  if (feasible.length === 0) {
    const others = {
      count: nodes.length - rejected.length,
      reason: "node(s) didn't satisfy plugin(s) [NodeAffinity]",
    };
    const message = unschedulableMessage(pod, { kind: "nodes", rejections: rejected, others });
    const rejectedBy = new Set(rejected.map(({ by }) => by));
    if (others.count > 0) rejectedBy.add("NodeAffinity");
    return { kind: "none", message, rejectedBy };
  }
  return chosen(
    pod,
    best(pod, snapshot, feasible, options.random),
    snapshot,
    feasible.length + rejected.length,
  );
}

interface NamedCheck {
  readonly name: PluginName;
  readonly check: Check;
}

type PreparedChecks =
  | { readonly kind: "reject"; readonly reason: string; readonly by: PluginName }
  | {
      readonly kind: "checks";
      readonly checks: readonly NamedCheck[];
      readonly nodeNames: ReadonlySet<string> | undefined;
    };

function prepareChecks(pod: PodInfo, snapshot: Snapshot): PreparedChecks {
  const checks: NamedCheck[] = [];
  let nodeNames: ReadonlySet<string> | undefined;
  for (const { name, prepare } of filters) {
    const prepared = prepare(pod, snapshot);
    if (prepared.kind === "reject") return { ...prepared, by: name };
    if (prepared.kind !== "check") continue;
    checks.push({ name, check: prepared.check });
    nodeNames ??= prepared.nodeNames;
  }
  return { kind: "checks", checks, nodeNames };
}

interface SearchResult {
  readonly feasible: readonly NodeInfo[];
  readonly rejected: readonly {
    readonly node: NodeInfo;
    readonly rejection: Rejection;
    readonly by: PluginName;
  }[];
}

/** Examines nodes until enough feasible ones are found. */
function search(checks: readonly NamedCheck[], nodes: readonly NodeInfo[], startAt: number): SearchResult {
  const wanted = feasibleNodesToFind(nodes.length);
  const feasible: NodeInfo[] = [];
  const rejected: { node: NodeInfo; rejection: Rejection; by: PluginName }[] = [];
  for (let i = 0; i < nodes.length && feasible.length < wanted; i++) {
    const node = nodes[(startAt + i) % nodes.length];
    if (!node) continue;
    const found = findRejection(checks, node);
    if (found) rejected.push({ node, ...found });
    else feasible.push(node);
  }
  return { feasible, rejected };
}

function findRejection(checks: readonly NamedCheck[], node: NodeInfo) {
  for (const { name, check } of checks) {
    const rejection = check(node);
    if (rejection) return { rejection, by: name };
  }
  return undefined;
}

/**
 * Number of feasible nodes to look for: all nodes of a small cluster; half of them in a larger one, decreasing to 5 %,
 * but at least 100. Same formula as upstream's percentageOfNodesToScore.
 */
export function feasibleNodesToFind(count: number): number {
  if (count < 100) return count;
  const percentage = Math.max(5, 50 - Math.floor(count / 125));
  return Math.max(100, Math.floor((count * percentage) / 100));
}

function best(
  pod: PodInfo,
  snapshot: Snapshot,
  nodes: readonly NodeInfo[],
  random: () => number,
): NodeInfo | undefined {
  if (nodes.length === 1) return nodes[0];
  const scores = scoreNodes(pod, snapshot, nodes);
  let highest = Number.NEGATIVE_INFINITY;
  let tied = 0;
  let winner: NodeInfo | undefined;
  for (const [i, score] of scores.entries()) {
    if (score < highest) continue;
    tied = score > highest ? 1 : tied + 1;
    highest = score;
    // Reservoir sampling: nodes with equal scores win with equal probability.
    if (tied === 1 || random() * tied < 1) winner = nodes[i];
  }
  return winner;
}

function chosen(pod: PodInfo, node: NodeInfo | undefined, snapshot: Snapshot, examined: number): Choice {
  if (!node) throw new Error("no node was chosen");
  return { kind: "node", nodeName: node.name, volumes: planVolumes(pod, node, snapshot), examined };
}

function planVolumes(pod: PodInfo, node: NodeInfo, { objects }: Snapshot): VolumePlan {
  if (pod.volumes.length === 0) return emptyPlan;
  const claims = sortClaims(pod, objects);
  if (claims.kind === "reject") throw new Error(claims.reason);
  const planned = planForNode(claims, node, objects);
  if (planned.kind === "reject") throw new Error(planned.reasons.join(", "));
  return planned.plan;
}

const scorers: readonly Scorer[] = [
  toleratedTaints,
  preferredAffinity,
  leastAllocated,
  spreadScore,
  affinityScore,
  balancedAllocation,
  imageLocality,
];

/** Computes the weighted total score of each node, in the order of `nodes`. */
function scoreNodes(pod: PodInfo, snapshot: Snapshot, nodes: readonly NodeInfo[]): Float64Array {
  const totals = new Float64Array(nodes.length);
  const scores = new Float64Array(nodes.length);
  for (const { weight, prepare, normalize } of scorers) {
    const score = prepare(pod, snapshot, nodes);
    if (!score) continue;
    for (const [i, node] of nodes.entries()) scores[i] = score(node);
    normalize?.(scores);
    for (const [i, value] of scores.entries()) totals[i] = (totals[i] ?? 0) + weight * value;
  }
  return totals;
}

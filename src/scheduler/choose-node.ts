import type { Check, Filter, PluginName, Rejection } from "./filter/filter.ts";
import { interPodAffinity } from "./filter/inter-pod-affinity.ts";
import {
  nodeAffinity,
  nodeName,
  nodePorts,
  nodeUnschedulable,
  taintToleration,
} from "./filter/node-filters.ts";
import { resourcesFit } from "./filter/resources-fit.ts";
import { topologySpread } from "./filter/topology-spread.ts";
import { volumeBinding } from "./filter/volume-binding.ts";
import { volumeRestrictions } from "./filter/volume-restrictions.ts";
import { volumeZone } from "./filter/volume-zone.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo } from "./pod-info.ts";
import { scoreNodes } from "./score/score-nodes.ts";
import type { Snapshot } from "./snapshot.ts";
import { unschedulableMessage } from "./unschedulable-message.ts";
import { emptyPlan, planForNode, sortClaims, type VolumePlan } from "./volume/plan-volumes.ts";

/** In the order in which upstream asks them: the first one that says no gives the reason. */
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
      /** How many nodes were looked at: the next search starts after them. */
      readonly examined: number;
    }
  | {
      readonly kind: "none";
      readonly message: string;
      /** Who said no to any node: what may change their mind is worth another try. None: anything is. */
      readonly rejectedBy: ReadonlySet<PluginName>;
    };

export interface ChoiceOptions {
  /** From 0 up to 1: chooses between nodes that are equally good. */
  readonly random: () => number;
  /** Where in the list of nodes the search starts. */
  readonly startAt: number;
}

/** Decides where a pod goes. Throws when that cannot be known, with an error that says why. */
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

interface Found {
  readonly feasible: readonly NodeInfo[];
  readonly rejected: readonly {
    readonly node: NodeInfo;
    readonly rejection: Rejection;
    readonly by: PluginName;
  }[];
}

/** Looks at nodes until there are enough to choose from. */
function search(checks: readonly NamedCheck[], nodes: readonly NodeInfo[], startAt: number): Found {
  const wanted = enoughNodes(nodes.length);
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

/** All of few nodes, a part of many: half of them, less the more there are, never fewer than a twentieth or a hundred. */
export function enoughNodes(count: number): number {
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
    // Each of those that are equal wins with the same chance.
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

import { isPortFree } from "../../api/pod/host-ports.ts";
import { requiredNodes } from "../../api/pod/node-matcher.ts";
import { findUntolerated, type NodeInfo, tolerates } from "../model/node-info.ts";
import type { Allocatable, Resources } from "../model/pod-info.ts";
import { type Filter, type Prepared, pass, type Rejection, resolvable, unresolvable } from "./filter.ts";

// Filters that examine a single node. Reasons are identical to upstream's.

const unschedulable = unresolvable("node(s) were unschedulable");

export const nodeUnschedulable: Filter = {
  name: "NodeUnschedulable",
  prepare({ pod }) {
    const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
    if (tolerates(pod.spec?.tolerations, taint)) return pass;
    return { kind: "check", check: ({ node }) => (node.spec?.unschedulable ? unschedulable : undefined) };
  },
};

const otherName = unresolvable("node(s) didn't match the requested node name");

export const nodeName: Filter = {
  name: "NodeName",
  prepare({ pod }) {
    const wanted = pod.spec?.nodeName;
    if (!wanted) return pass;
    return { kind: "check", check: ({ name }) => (name === wanted ? undefined : otherName) };
  },
};

const tainted = unresolvable("node(s) had untolerated taint(s)");

export const taintToleration: Filter = {
  name: "TaintToleration",
  prepare({ pod }) {
    const tolerations = pod.spec?.tolerations;
    return {
      kind: "check",
      check: ({ node }) => (findUntolerated(node.spec?.taints, tolerations) ? tainted : undefined),
    };
  },
};

const otherNodes = unresolvable("node(s) didn't match Pod's node affinity/selector");

export const nodeAffinity: Filter = {
  name: "NodeAffinity",
  prepare({ pod }): Prepared {
    const matches = requiredNodes(pod);
    if (!matches) return pass;
    const nodeNames = namedNodes(
      pod.spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms,
    );
    if (nodeNames?.size === 0) return { kind: "reject", reason: "pod affinity terms conflict" };
    return { kind: "check", check: (node) => (matches(node) ? undefined : otherNodes), nodeNames };
  },
};

type Terms = readonly {
  matchFields?: { key: string; operator: string; values?: string[] }[];
}[];

/** Names of the only possible nodes, if every term selects nodes by metadata.name. */
function namedNodes(terms: Terms | undefined): ReadonlySet<string> | undefined {
  if (!terms?.length) return undefined;
  const names = new Set<string>();
  for (const { matchFields = [] } of terms) {
    const lists = matchFields
      .filter(({ key, operator }) => key === "metadata.name" && operator === "In")
      .map(({ values = [] }) => values);
    const [first, ...rest] = lists;
    if (!first) return undefined;
    for (const name of first) if (rest.every((list) => list.includes(name))) names.add(name);
  }
  return names;
}

const portTaken = resolvable("node(s) didn't have free ports for the requested pod ports");

export const nodePorts: Filter = {
  name: "NodePorts",
  prepare({ hostPorts }) {
    if (hostPorts.length === 0) return pass;
    return {
      kind: "check",
      check: ({ usedPorts }) =>
        hostPorts.every((port) => isPortFree(usedPorts, port)) ? undefined : portTaken,
    };
  },
};

export const resourcesFit: Filter = {
  name: "NodeResourcesFit",
  prepare({ requests }) {
    const scalars = [...requests.scalars].filter(([, amount]) => amount > 0);
    return { kind: "check", check: (node) => checkFit(requests, scalars, node) };
  },
};

type Scalars = readonly (readonly [string, number])[];

function checkFit(requests: Resources, scalars: Scalars, node: NodeInfo): Rejection | undefined {
  const { allocatable, requested, pods } = node;
  if (
    pods.size < allocatable.pods &&
    isWithin(requests.cpu, allocatable.cpu, requested.cpu) &&
    isWithin(requests.memory, allocatable.memory, requested.memory) &&
    isWithin(requests.ephemeralStorage, allocatable.ephemeralStorage, requested.ephemeralStorage) &&
    scalars.every(([name, amount]) => isScalarWithin(node, name, amount))
  ) {
    return undefined;
  }
  return explainMisfit(requests, scalars, node);
}

function isWithin(wanted: number, allocatable: number, taken: number): boolean {
  return wanted === 0 || wanted <= allocatable - taken;
}

function isScalarWithin({ allocatable, requested }: NodeInfo, name: string, amount: number): boolean {
  return isWithin(amount, allocatable.scalars.get(name) ?? 0, requested.scalars.get(name) ?? 0);
}

function explainMisfit(requests: Resources, scalars: Scalars, node: NodeInfo): Rejection {
  const { allocatable, requested, pods } = node;
  const reasons: string[] = [];
  if (pods.size >= allocatable.pods) reasons.push("Too many pods");
  if (!isWithin(requests.cpu, allocatable.cpu, requested.cpu)) reasons.push("Insufficient cpu");
  if (!isWithin(requests.memory, allocatable.memory, requested.memory)) reasons.push("Insufficient memory");
  if (!isWithin(requests.ephemeralStorage, allocatable.ephemeralStorage, requested.ephemeralStorage)) {
    reasons.push("Insufficient ephemeral-storage");
  }
  for (const [name, amount] of scalars) {
    if (!isScalarWithin(node, name, amount)) reasons.push(`Insufficient ${name}`);
  }
  return { reasons, isResolvable: fitsEmpty(requests, allocatable) };
}

export function fitsNode(requests: Resources, node: NodeInfo): boolean {
  return checkFit(requests, [...requests.scalars], node) === undefined;
}

/** Reports whether the node would be large enough without any pods. */
export function fitsEmpty(requests: Resources, allocatable: Allocatable): boolean {
  if (requests.cpu > allocatable.cpu || requests.memory > allocatable.memory) return false;
  if (requests.ephemeralStorage > allocatable.ephemeralStorage) return false;
  for (const [name, amount] of requests.scalars) {
    if (amount > (allocatable.scalars.get(name) ?? 0)) return false;
  }
  return true;
}

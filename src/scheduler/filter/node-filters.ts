import { requiredNodes } from "../../api/node-matcher.ts";
import { isPortFree } from "../host-ports.ts";
import { dueToPods, type Filter, final, type Prepared, pass } from "./filter.ts";
import { findUntolerated, tolerates } from "./tolerates.ts";

// Filters that look at one node by itself, with upstream's texts.

const unschedulable = final("node(s) were unschedulable");

export const nodeUnschedulable: Filter = {
  name: "NodeUnschedulable",
  prepare({ pod }) {
    const taint = { key: "node.kubernetes.io/unschedulable", effect: "NoSchedule" };
    if (tolerates(pod.spec?.tolerations, taint)) return pass;
    return { kind: "check", check: ({ node }) => (node.spec?.unschedulable ? unschedulable : undefined) };
  },
};

const otherName = final("node(s) didn't match the requested node name");

export const nodeName: Filter = {
  name: "NodeName",
  prepare({ pod }) {
    const wanted = pod.spec?.nodeName;
    if (!wanted) return pass;
    return { kind: "check", check: ({ name }) => (name === wanted ? undefined : otherName) };
  },
};

const tainted = final("node(s) had untolerated taint(s)");

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

const otherNodes = final("node(s) didn't match Pod's node affinity/selector");

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

/** The nodes that a pod names, when each of its terms names some: no other need be looked at. */
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

const portTaken = dueToPods("node(s) didn't have free ports for the requested pod ports");

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

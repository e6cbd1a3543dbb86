import type { PodSpec } from "../../api/meta/objects.ts";
import { type LabelSelector, matchesLabels } from "../../api/meta/selector.ts";
import { type NodeMatcher, requiredNodes } from "../../api/pod/node-matcher.ts";
import { describeSelector, readSelector } from "./affinity-term.ts";
import { findUntolerated, labelOf, type NodeInfo } from "./node-info.ts";
import type { PodQuery } from "./pod-counts.ts";
import type { PodInfo } from "./pod-info.ts";

type ConstraintObject = NonNullable<PodSpec["topologySpreadConstraints"]>[number];

export interface SpreadConstraint {
  readonly maxSkew: number;
  readonly minDomains: number;
  readonly topologyKey: string;
  readonly selector: LabelSelector | undefined;
  /** Query for the pods that the constraint counts. */
  readonly query: PodQuery;
  /** Whether the node is counted, by the constraint's node inclusion policies. */
  isIncluded(node: NodeInfo): boolean;
}

export function readConstraints(
  info: PodInfo,
  action: "DoNotSchedule" | "ScheduleAnyway",
): readonly SpreadConstraint[] {
  const objects = info.pod.spec?.topologySpreadConstraints?.filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable === action,
  );
  if (!objects?.length) return [];
  const required = requiredNodes(info.pod);
  return objects.map((object) =>
    makeConstraint(info, required, { ...object, selector: selectorOf(object, info) }),
  );
}

interface ConstraintFacts
  extends Pick<
    ConstraintObject,
    "maxSkew" | "minDomains" | "topologyKey" | "nodeAffinityPolicy" | "nodeTaintsPolicy"
  > {
  readonly selector: LabelSelector | undefined;
}

export function makeConstraint(
  { pod, namespace }: PodInfo,
  required: NodeMatcher | undefined,
  facts: ConstraintFacts,
): SpreadConstraint {
  const { maxSkew, minDomains = 1, topologyKey, selector } = facts;
  const { nodeAffinityPolicy = "Honor", nodeTaintsPolicy = "Ignore" } = facts;
  return {
    maxSkew,
    minDomains,
    topologyKey,
    selector,
    query: spreadQuery(namespace, selector),
    isIncluded(node) {
      if (nodeAffinityPolicy === "Honor" && required && !required(node)) return false;
      return nodeTaintsPolicy !== "Honor" || !findUntolerated(node.node.spec?.taints, pod.spec?.tolerations);
    },
  };
}

/** Upstream counts no terminating pods, and no pods for an empty selector. */
function spreadQuery(namespace: string, selector: LabelSelector | undefined): PodQuery {
  return {
    key: `spread ${JSON.stringify([namespace, describeSelector(selector)])}`,
    namespaces: new Set([namespace]),
    matches: ({ isTerminating, labels }) =>
      !isTerminating && selector !== undefined && selector.length > 0 && matchesLabels(selector, labels),
  };
}

function selectorOf({ labelSelector, matchLabelKeys = [] }: ConstraintObject, { labels }: PodInfo) {
  const selector = readSelector(labelSelector);
  if (!selector) return undefined;
  const own = matchLabelKeys.flatMap((key) => {
    const value = labelOf(labels, key);
    return value === undefined ? [] : [{ key, operator: "=" as const, values: [value] }];
  });
  return [...own, ...selector];
}

export function hasAllKeys(node: NodeInfo, constraints: readonly SpreadConstraint[]): boolean {
  return constraints.every(({ topologyKey }) => labelOf(node.labels, topologyKey) !== undefined);
}

import { matchesLabels } from "../../api/selector.ts";
import { labelOf } from "../node-info.ts";
import type { Snapshot } from "../snapshot.ts";
import { hasAllKeys, readConstraints, type SpreadConstraint } from "../spread-constraint.ts";
import { dueToPods, type Filter, final, pass } from "./filter.ts";

const tooSkewed = dueToPods("node(s) didn't match pod topology spread constraints");
const withoutLabel = final("node(s) didn't match pod topology spread constraints (missing required label)");

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
  /** What the emptiest of them has. */
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

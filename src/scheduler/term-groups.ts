import type { AffinityTerm, PodAffinityTerms } from "./affinity-term.ts";
import type { PodInfo } from "./pod-info.ts";

/** Pods that want the same of others, counted by node: pods of one workload are one group. */
export interface TermGroup {
  readonly term: AffinityTerm;
  readonly weight: number;
  readonly perNode: Map<string, number>;
}

export type TermGroups = {
  readonly [Kind in keyof PodAffinityTerms]: ReadonlyMap<string, TermGroup>;
};

type MutableGroups = { readonly [Kind in keyof PodAffinityTerms]: Map<string, TermGroup> };

export function createTermGroups(): {
  groups: TermGroups;
  add(pod: PodInfo, nodeName: string, sign: 1 | -1): void;
} {
  const groups: MutableGroups = {
    required: new Map(),
    requiredAnti: new Map(),
    preferred: new Map(),
    preferredAnti: new Map(),
  };

  function tally(kind: keyof MutableGroups, term: AffinityTerm, change: Change): void {
    const { nodeName, sign, weight = 0 } = change;
    const key = `${weight} ${term.key}`;
    const group = groups[kind].get(key) ?? { term, weight, perNode: new Map<string, number>() };
    const count = (group.perNode.get(nodeName) ?? 0) + sign;
    if (count > 0) group.perNode.set(nodeName, count);
    else group.perNode.delete(nodeName);
    if (group.perNode.size > 0) groups[kind].set(key, group);
    else groups[kind].delete(key);
  }

  return {
    groups,
    add({ affinity }, nodeName, sign) {
      for (const kind of ["required", "requiredAnti"] as const) {
        for (const term of affinity[kind]) tally(kind, term, { nodeName, sign });
      }
      for (const kind of ["preferred", "preferredAnti"] as const) {
        for (const { term, weight } of affinity[kind]) tally(kind, term, { nodeName, sign, weight });
      }
    },
  };
}

interface Change {
  readonly nodeName: string;
  readonly sign: 1 | -1;
  readonly weight?: number;
}

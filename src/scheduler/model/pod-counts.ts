import type { AffinityTerm, PodAffinityTerms } from "./affinity-term.ts";
import type { PodInfo } from "./pod-info.ts";

/** Selects the pods to count. Equal keys mean equivalent queries. */
export interface PodQuery {
  readonly key: string;
  readonly namespaces: ReadonlySet<string>;
  matches(pod: PodInfo): boolean;
}

export interface PodCounts {
  count(query: PodQuery): ReadonlyMap<string, number>;
  add(pod: PodInfo, nodeName: string, sign: 1 | -1): void;
}

export interface PlacedPod {
  readonly info: PodInfo;
  readonly nodeName: string;
}

interface Counter {
  readonly query: PodQuery;
  readonly perNode: Map<string, number>;
}

/** Maximum number of cached queries. Pods of one workload share a query. */
const maxCounters = 256;

/**
 * Counts matching pods per node. The first use of a query scans the pods; afterwards its counts are updated
 * incrementally.
 */
export function createPodCounts(podsIn: (namespace: string) => Iterable<PlacedPod>): PodCounts {
  /** Least recently used first. */
  const counters = new Map<string, Counter>();

  function build(query: PodQuery): Counter {
    const counter: Counter = { query, perNode: new Map() };
    for (const namespace of query.namespaces) {
      for (const { info, nodeName } of podsIn(namespace)) tally(counter, info, nodeName, 1);
    }
    return counter;
  }

  return {
    count(query) {
      const counter = counters.get(query.key) ?? build(query);
      counters.delete(query.key);
      counters.set(query.key, counter);
      if (counters.size > maxCounters) {
        for (const oldest of counters.keys()) {
          counters.delete(oldest);
          break;
        }
      }
      return counter.perNode;
    },
    add(pod, nodeName, sign) {
      for (const counter of counters.values()) {
        if (counter.query.namespaces.has(pod.namespace)) tally(counter, pod, nodeName, sign);
      }
    },
  };
}

function tally({ query, perNode }: Counter, pod: PodInfo, nodeName: string, sign: 1 | -1): void {
  if (!query.matches(pod)) return;
  const count = (perNode.get(nodeName) ?? 0) + sign;
  if (count > 0) perNode.set(nodeName, count);
  else perNode.delete(nodeName);
}

/** Affinity term shared by several pods, with the number of those pods per node. */
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

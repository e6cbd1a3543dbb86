import type { PodInfo } from "./pod-info.ts";

/** Which pods to count. Equal keys mean equal queries. */
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

/** Pods of one workload ask the same over and over, and workloads are fewer than pods. */
const maxCounters = 256;

/**
 * Counts pods by node and query. The first time a query is asked, the pods are looked through; from then on its numbers
 * are kept up as pods come and go.
 */
export function createPodCounts(podsIn: (namespace: string) => Iterable<PlacedPod>): PodCounts {
  /** Least recently asked first. */
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

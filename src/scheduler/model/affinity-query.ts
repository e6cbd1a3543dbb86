import { matchesLabels } from "../../api/meta/selector.ts";
import { type AffinityTerm, type Candidate, matchesTerm } from "./affinity-term.ts";
import type { Snapshot } from "./informers.ts";
import { labelOf } from "./node-info.ts";
import type { PodQuery } from "./pod-counts.ts";

/** Replaces the namespace selector of a term by the names of the namespaces that it currently selects. */
export function resolveNamespaces(term: AffinityTerm, { objects }: Snapshot): AffinityTerm {
  const { namespaceSelector } = term;
  if (!namespaceSelector) return term;
  const namespaces = new Set(term.namespaces);
  for (const { name, labels } of objects.namespaces()) {
    if (matchesLabels(namespaceSelector, labels)) namespaces.add(name);
  }
  const key = `${term.key} ${JSON.stringify([...namespaces].sort())}`;
  return { ...term, key, namespaces, namespaceSelector: undefined };
}

/** Query for pods that match all terms. The terms must have been resolved with resolveNamespaces. */
export function queryOfAll(terms: readonly AffinityTerm[]): PodQuery {
  const [first, ...rest] = terms;
  const commonNamespaces = [...(first?.namespaces ?? [])].filter((name) =>
    rest.every(({ namespaces }) => namespaces.has(name)),
  );
  return {
    key: `affinity ${terms.map(({ key }) => key).join(" ")}`,
    namespaces: new Set(commonNamespaces),
    matches: (pod) => matchesAll(terms, pod),
  };
}

export function matchesAll(terms: readonly AffinityTerm[], pod: Candidate): boolean {
  return terms.length > 0 && terms.every((term) => matchesTerm(term, pod, undefined));
}

/** Totals by topology key and value. */
export type TopologyTotals = Map<string, Map<string, number>>;

/** Adds per-node counts, multiplied by a factor, to the topology of each node. */
export function addToTopologies(
  totals: TopologyTotals,
  topologyKey: string,
  options: {
    readonly perNode: ReadonlyMap<string, number>;
    readonly factor: number;
    readonly snapshot: Snapshot;
  },
): void {
  for (const [nodeName, count] of options.perNode) {
    const value = labelOf(options.snapshot.node(nodeName)?.labels, topologyKey);
    if (value === undefined) continue;
    const values = totals.get(topologyKey) ?? new Map<string, number>();
    totals.set(topologyKey, values);
    values.set(value, (values.get(value) ?? 0) + count * options.factor);
  }
}

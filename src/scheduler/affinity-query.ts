import { matchesLabels } from "../api/selector.ts";
import { type AffinityTerm, type Candidate, matchesTerm } from "./affinity-term.ts";
import type { PodQuery } from "./pod-counts.ts";
import type { Snapshot } from "./snapshot.ts";

/** A term whose namespaces are all named: those that its selector selects now, too. */
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

/** Pods that match every one of some terms, whose namespaces are all named. */
export function queryOfAll(terms: readonly AffinityTerm[]): PodQuery {
  const [first, ...rest] = terms;
  const inReach = [...(first?.namespaces ?? [])].filter((name) =>
    rest.every(({ namespaces }) => namespaces.has(name)),
  );
  return {
    key: `affinity ${terms.map(({ key }) => key).join(" ")}`,
    namespaces: new Set(inReach),
    matches: (pod) => matchesAll(terms, pod),
  };
}

export function matchesAll(terms: readonly AffinityTerm[], pod: Candidate): boolean {
  return terms.length > 0 && terms.every((term) => matchesTerm(term, pod, undefined));
}

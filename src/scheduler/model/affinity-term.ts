import type { LabelSelector as LabelSelectorObject, Pod, PodSpec } from "../../api/meta/objects.ts";
import {
  formatLabelSelector,
  type LabelSelector,
  type Labels,
  labelSelectorOf,
  matchesLabels,
} from "../../api/meta/selector.ts";

type TermObject = NonNullable<
  NonNullable<
    NonNullable<PodSpec["affinity"]>["podAffinity"]
  >["requiredDuringSchedulingIgnoredDuringExecution"]
>[number];

/** Parsed pod affinity or anti-affinity term. */
export interface AffinityTerm {
  /** Equal for equivalent terms. */
  readonly key: string;
  readonly topologyKey: string;
  readonly namespaces: ReadonlySet<string>;
  /** Selects namespaces in addition to `namespaces`; undefined selects none. */
  readonly namespaceSelector: LabelSelector | undefined;
  /** Undefined selects none. */
  readonly selector: LabelSelector | undefined;
}

export interface WeightedTerm {
  readonly weight: number;
  readonly term: AffinityTerm;
}

export interface PodAffinityTerms {
  readonly required: readonly AffinityTerm[];
  readonly requiredAnti: readonly AffinityTerm[];
  readonly preferred: readonly WeightedTerm[];
  readonly preferredAnti: readonly WeightedTerm[];
}

const none: PodAffinityTerms = { required: [], requiredAnti: [], preferred: [], preferredAnti: [] };

export function readAffinityTerms(pod: Pod): PodAffinityTerms {
  const { podAffinity, podAntiAffinity } = pod.spec?.affinity ?? {};
  if (!podAffinity && !podAntiAffinity) return none;
  const namespace = pod.metadata.namespace ?? "";
  const read = (term: TermObject) => readTerm(term, namespace);
  const readAll = (rules: typeof podAffinity) => ({
    required: (rules?.requiredDuringSchedulingIgnoredDuringExecution ?? []).map(read),
    preferred: (rules?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
      ({ weight, podAffinityTerm }) => ({ weight, term: read(podAffinityTerm) }),
    ),
  });
  const near = readAll(podAffinity);
  const apart = readAll(podAntiAffinity);
  return {
    required: near.required,
    requiredAnti: apart.required,
    preferred: near.preferred,
    preferredAnti: apart.preferred,
  };
}

function readTerm(term: TermObject, podNamespace: string): AffinityTerm {
  const named = term.namespaces ?? [];
  const isOwn = named.length === 0 && !term.namespaceSelector;
  const namespaces = new Set(isOwn ? [podNamespace] : named);
  const namespaceSelector = readSelector(term.namespaceSelector);
  const selector = readSelector(term.labelSelector);
  const key = JSON.stringify([
    term.topologyKey,
    [...namespaces].sort(),
    describeSelector(namespaceSelector),
    describeSelector(selector),
  ]);
  return { key, topologyKey: term.topologyKey, namespaces, namespaceSelector, selector };
}

/** Parses a selector. An invalid selector matches nothing, like a missing one. */
export function readSelector(selector: LabelSelectorObject | undefined): LabelSelector | undefined {
  try {
    return labelSelectorOf(selector);
  } catch {
    return undefined;
  }
}

export function describeSelector(selector: LabelSelector | undefined): string | null {
  return selector ? formatLabelSelector(selector) : null;
}

export interface Candidate {
  readonly namespace: string;
  readonly labels: Labels;
}

/** Matches a pod against a term. `namespaceLabels` are the labels of the pod's namespace. */
export function matchesTerm(
  { namespaces, namespaceSelector, selector }: AffinityTerm,
  { namespace, labels }: Candidate,
  namespaceLabels: Labels,
): boolean {
  if (!selector) return false;
  const isInNamespaces =
    namespaces.has(namespace) || (namespaceSelector && matchesLabels(namespaceSelector, namespaceLabels));
  return Boolean(isInNamespaces) && matchesLabels(selector, labels);
}

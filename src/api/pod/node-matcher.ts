import type { Node, PersistentVolume, Pod, PodSpec } from "../meta/objects.ts";
import {
  type LabelOperator,
  type LabelRequirement,
  type LabelSelector,
  type Labels,
  matchesLabels,
  requirementProblem,
} from "../meta/selector.ts";

type NodeSelector = NonNullable<
  NonNullable<NonNullable<PersistentVolume["spec"]>["nodeAffinity"]>["required"]
>;
type TermObject = NodeSelector["nodeSelectorTerms"][number];

/** Labels and name of a node, for node selectors. The affinity of volumes uses labels only. */
interface MatchedNode {
  readonly name?: string;
  readonly labels: Labels;
}

interface Term {
  readonly labels: LabelSelector;
  /** Requirements for metadata.name. */
  readonly fields: LabelSelector;
}

/** Whether a node matches at least one term. Empty and invalid terms match no node. */
export type NodeMatcher = (node: MatchedNode) => boolean;

export function matcherOfSelector({ nodeSelectorTerms }: NodeSelector): NodeMatcher {
  const terms = nodeSelectorTerms.flatMap((term) => readTerm(term) ?? []);
  return (node) => terms.some((term) => matchesTerm(term, node));
}

export interface WeightedMatcher {
  readonly weight: number;
  readonly matches: NodeMatcher;
}

/** Matcher for the nodeSelector and required node affinity of a pod. Undefined if it has neither. */
export function requiredNodes({ spec }: Pick<Pod, "spec">): NodeMatcher | undefined {
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  const wanted = Object.entries(spec?.nodeSelector ?? {});
  if (!required && wanted.length === 0) return undefined;
  const labels = wanted.map(([key, value]) => ({ key, operator: "=" as const, values: [value] }));
  const matchesRequired = required && matcherOfSelector(required);
  return (node) => matchesLabels(labels, node.labels) && (matchesRequired?.(node) ?? true);
}

export function preferredNodes({ spec }: Pod): readonly WeightedMatcher[] {
  const preferred = spec?.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? [];
  return preferred.flatMap(({ weight, preference }) => {
    const term = readTerm(preference);
    return term && weight !== 0 ? [{ weight, matches: (node: MatchedNode) => matchesTerm(term, node) }] : [];
  });
}

function matchesTerm({ labels, fields }: Term, node: MatchedNode): boolean {
  if (!matchesLabels(labels, node.labels)) return false;
  return node.name === undefined || matchesLabels(fields, { "metadata.name": node.name });
}

const operators = new Map<string, LabelOperator>([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
  ["Gt", "gt"],
  ["Lt", "lt"],
]);

function readTerm({ matchExpressions = [], matchFields = [] }: TermObject): Term | undefined {
  if (matchExpressions.length === 0 && matchFields.length === 0) return undefined;
  const labels = matchExpressions.map(readRequirement);
  const fields = matchFields.map(readRequirement);
  if (!areRequirements(labels) || !areRequirements(fields)) return undefined;
  const areFieldsSound = fields.every(
    ({ operator, values }) => (operator === "in" || operator === "notin") && values.length === 1,
  );
  return areFieldsSound ? { labels, fields } : undefined;
}

function readRequirement({
  key,
  operator,
  values = [],
}: {
  key: string;
  operator: string;
  values?: string[];
}): LabelRequirement | undefined {
  const known = operators.get(operator);
  if (!known) return undefined;
  const requirement = { key, operator: known, values };
  return requirementProblem(requirement) ? undefined : requirement;
}

function areRequirements(list: readonly (LabelRequirement | undefined)[]): list is LabelRequirement[] {
  return !list.includes(undefined);
}

export type Taint = NonNullable<NonNullable<Node["spec"]>["taints"]>[number];
export type Toleration = NonNullable<PodSpec["tolerations"]>[number];

export function toleratesTaint({ key, operator, value, effect }: Toleration, taint: Taint): boolean {
  if (effect && effect !== taint.effect) return false;
  if (key && key !== taint.key) return false;
  switch (operator || "Equal") {
    case "Exists":
      return true;
    case "Equal":
      return (value ?? "") === (taint.value ?? "");
    default:
      // The operators Lt and Gt are alpha and disabled by default upstream.
      return false;
  }
}

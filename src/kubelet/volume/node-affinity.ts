import type { PersistentVolume } from "../../api/objects.ts";
import { type LabelRequirement, type Labels, matchesLabels } from "../../api/selector.ts";
import type { NodeFacts } from "./volume-request.ts";

type Terms = NonNullable<NonNullable<NonNullable<PersistentVolume["spec"]>["nodeAffinity"]>["required"]>;
type Term = Terms["nodeSelectorTerms"][number];
type Expression = NonNullable<Term["matchExpressions"]>[number];

const operators: ReadonlyMap<string, LabelRequirement["operator"]> = new Map([
  ["In", "in"],
  ["NotIn", "notin"],
  ["Exists", "exists"],
  ["DoesNotExist", "!"],
  ["Gt", "gt"],
  ["Lt", "lt"],
]);

/** Whether a persistent volume can be reached from a node: one of its terms matches, or it has none to match. */
export function isReachableFrom(volume: PersistentVolume, node: Pick<NodeFacts, "name" | "labels">): boolean {
  const required = volume.spec?.nodeAffinity?.required;
  return !required || required.nodeSelectorTerms.some((term) => matchesTerm(term, node));
}

function matchesTerm(term: Term, node: Pick<NodeFacts, "name" | "labels">): boolean {
  const { matchExpressions = [], matchFields = [] } = term;
  // An empty term matches nothing.
  if (matchExpressions.length + matchFields.length === 0) return false;
  return matchesAll(matchExpressions, node.labels) && matchesAll(matchFields, { "metadata.name": node.name });
}

function matchesAll(expressions: readonly Expression[], labels: Labels): boolean {
  return expressions.every(({ key, operator, values = [] }) => {
    const known = operators.get(operator);
    return known !== undefined && matchesLabels([{ key, operator: known, values }], labels);
  });
}

import type * as k8s from "@kubernetes/client-node";
import { labelValueProblems, qualifiedNameProblems } from "./names.ts";
import { badRequest } from "./status-error.ts";

export type LabelOperator = "=" | "==" | "!=" | "in" | "notin" | "gt" | "lt" | "exists" | "!";

export interface LabelRequirement {
  readonly key: string;
  readonly operator: LabelOperator;
  readonly values: readonly string[];
}

/** Requirements that must all hold. An empty selector matches everything. */
export type LabelSelector = readonly LabelRequirement[];
export type Labels = Readonly<Record<string, string>> | undefined;

export function matchesLabels(selector: LabelSelector, labels: Labels): boolean {
  for (const requirement of selector) {
    if (!matchesRequirement(requirement, labels)) return false;
  }
  return true;
}

function matchesRequirement({ key, operator, values }: LabelRequirement, labels: Labels): boolean {
  const value = labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
  switch (operator) {
    case "=":
    case "==":
    case "in":
      return value !== undefined && values.includes(value);
    case "!=":
    case "notin":
      return value === undefined || !values.includes(value);
    case "exists":
      return value !== undefined;
    case "!":
      return value === undefined;
    case "gt":
      return value !== undefined && isInteger(value) && BigInt(value) > BigInt(values[0] ?? 0);
    case "lt":
      return value !== undefined && isInteger(value) && BigInt(value) < BigInt(values[0] ?? 0);
  }
}

/** The value that a label must have, if the selector requires exactly one. Used to index watches. */
export function requiredLabelValue(selector: LabelSelector, key: string): string | undefined {
  const found = selector.find((requirement) => requirement.key === key);
  const exact = found?.operator === "=" || found?.operator === "==" || found?.operator === "in";
  return exact && found.values.length === 1 ? found.values[0] : undefined;
}

const objectOperators: Readonly<Record<string, LabelOperator>> = {
  In: "in",
  NotIn: "notin",
  Exists: "exists",
  DoesNotExist: "!",
};

/** Requirements of a `LabelSelector` object. Undefined for a missing selector, which matches nothing. */
export function labelSelectorOf(selector: k8s.V1LabelSelector | undefined): LabelSelector | undefined {
  if (!selector) return undefined;
  const requirements: LabelRequirement[] = [];
  for (const [key, value] of Object.entries(selector.matchLabels ?? {})) {
    requirements.push({ key, operator: "=", values: [value] });
  }
  for (const { key, operator, values } of selector.matchExpressions ?? []) {
    const known = Object.hasOwn(objectOperators, operator) ? objectOperators[operator] : undefined;
    if (!known) throw badRequest(`${JSON.stringify(operator)} is not a valid label selector operator`);
    requirements.push({ key, operator: known, values: values ?? [] });
  }
  return requirements.sort(byKey);
}

/** Formats a selector as in URLs and in the status of a Scale: `a=b,c in (x,y),!d`. */
export function formatLabelSelector(selector: LabelSelector): string {
  return selector.map(formatRequirement).join(",");
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  const list = [...values].sort().join(",");
  switch (operator) {
    case "exists":
      return key;
    case "!":
      return `!${key}`;
    case "in":
    case "notin":
      return `${key} ${operator} (${list})`;
    case "gt":
      return `${key}>${list}`;
    case "lt":
      return `${key}<${list}`;
    default:
      return `${key}${operator}${list}`;
  }
}

export function byKey(a: LabelRequirement, b: LabelRequirement): number {
  return a.key < b.key ? -1 : a.key > b.key ? 1 : 0;
}

/** Whether the text is a 64-bit integer. */
function isInteger(text: string): boolean {
  return /^[-+]?[0-9]{1,40}$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text);
}

/** Problem of a requirement, in the words of upstream. Undefined if it is valid. */
export function requirementProblem({ key, operator, values }: LabelRequirement): string | undefined {
  const problems: string[] = [];
  const keyProblems = qualifiedNameProblems(key);
  if (keyProblems.length > 0) {
    problems.push(`key: Invalid value: ${JSON.stringify(key)}: ${keyProblems.join("; ")}`);
  }
  if (operator === "gt" || operator === "lt") {
    values.forEach((value, i) => {
      if (isInteger(value)) return;
      const detail = "for 'Gt', 'Lt' operators, the value must be an integer";
      problems.push(`values[${i}]: Invalid value: ${JSON.stringify(value)}: ${detail}`);
    });
  }
  values.forEach((value, i) => {
    const wrong = labelValueProblems(value);
    if (wrong.length === 0) return;
    problems.push(`values[${i}][${key}]: Invalid value: ${JSON.stringify(value)}: ${wrong.join("; ")}`);
  });
  return problems.length > 1 ? `[${problems.join(", ")}]` : problems[0];
}

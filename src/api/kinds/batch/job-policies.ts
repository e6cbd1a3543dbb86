import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../meta/field-errors.ts";
import { qualifiedNameProblems } from "../../meta/names.ts";
import type { JobSpec } from "../../meta/objects.ts";
import { countIndexes, IndexFormatError, parseIndexes } from "./completion-indexes.ts";

const maxRules = 20;
const maxExitCodes = 255;
const maxConditionPatterns = 20;
const maxIndexesLength = 64 * 1024;

const actions = ["Count", "FailIndex", "FailJob", "Ignore"];
const operators = ["In", "NotIn"];
const conditionStatuses = ["False", "True", "Unknown"];

/** Go's `%q` of a list of strings: `["a" "b"]`. */
function validValues(values: readonly string[]): string {
  return `valid values: [${values.map((value) => JSON.stringify(value)).join(" ")}]`;
}

export function defaultPodFailurePolicy({ podFailurePolicy }: JobSpec): void {
  for (const { onPodConditions } of podFailurePolicy?.rules ?? []) {
    for (const pattern of onPodConditions ?? []) pattern.status ||= "True";
  }
}

export function validatePodFailurePolicy(
  policy: k8s.V1PodFailurePolicy,
  spec: JobSpec,
  at: FieldErrors,
): void {
  const { rules = [] } = policy;
  if (rules.length > maxRules) at.tooMany("rules", rules.length, maxRules);
  const { containers = [], initContainers = [] } = spec.template?.spec ?? {};
  const names = new Set([...containers, ...initContainers].map(({ name }) => name));
  at.each("rules", rules, (rule, place) => validateFailureRule(rule, { spec, names }, place));
}

function validateFailureRule(
  rule: k8s.V1PodFailurePolicyRule,
  { spec, names }: { readonly spec: JobSpec; readonly names: ReadonlySet<string> },
  at: FieldErrors,
): void {
  const { action, onExitCodes, onPodConditions = [] } = rule;
  if (!action) at.required("action", validValues(actions));
  else if (action === "FailIndex") {
    if (spec.backoffLimitPerIndex === undefined)
      at.invalid("action", action, "requires the backoffLimitPerIndex to be set");
  } else at.oneOf("action", action, actions);
  if (onExitCodes) validateExitCodes(onExitCodes, names, at.child("onExitCodes"));
  if (onPodConditions.length > maxConditionPatterns)
    at.tooMany("onPodConditions", onPodConditions.length, maxConditionPatterns);
  at.each("onPodConditions", onPodConditions, ({ type, status }, pattern) => {
    pattern.problems("type", type, qualifiedNameProblems(type));
    if (!status) pattern.required("status", validValues(conditionStatuses));
    else pattern.oneOf("status", status, conditionStatuses);
  });
  if (onExitCodes && onPodConditions.length > 0)
    at.invalidWithoutValue("", "specifying both OnExitCodes and OnPodConditions is not supported");
  if (!onExitCodes && onPodConditions.length === 0)
    at.invalidWithoutValue("", "specifying one of OnExitCodes and OnPodConditions is required");
}

function validateExitCodes(
  { operator, containerName, values = [] }: k8s.V1PodFailurePolicyOnExitCodesRequirement,
  names: ReadonlySet<string>,
  at: FieldErrors,
): void {
  if (!operator) at.required("operator", validValues(operators));
  else at.oneOf("operator", operator, operators);
  if (containerName !== undefined && !names.has(containerName)) {
    const detail = "must be one of the container or initContainer names in the pod template";
    at.invalid("containerName", containerName, detail);
  }
  if (values.length === 0) at.invalid("values", values, "at least one value is required");
  else if (values.length > maxExitCodes) at.tooMany("values", values.length, maxExitCodes);
  const seen = new Set<number>();
  at.each("values", values, (value, place) => {
    if (operator === "In" && value === 0) place.invalid("", value, "must not be 0 for the In operator");
    if (seen.has(value)) place.duplicate("", value);
    seen.add(value);
  });
  const isOrdered = values.every((value, i) => i === 0 || (values[i - 1] ?? value) <= value);
  if (!isOrdered) at.invalid("values", values, "must be ordered");
}

export function validateSuccessPolicy(
  { rules = [] }: k8s.V1SuccessPolicy,
  completions: number,
  at: FieldErrors,
): void {
  if (rules.length === 0)
    at.required("rules", "at least one rules must be specified when the successPolicy is specified");
  if (rules.length > maxRules) at.tooMany("rules", rules.length, maxRules);
  at.each("rules", rules, (rule, place) => validateSuccessRule(rule, completions, place));
}

function validateSuccessRule(rule: k8s.V1SuccessPolicyRule, completions: number, at: FieldErrors): void {
  const { succeededIndexes, succeededCount } = rule;
  if (succeededIndexes === undefined && succeededCount === undefined)
    at.required("", "at least one of succeededCount or succeededIndexes must be specified");
  const listed = succeededIndexes === undefined ? 0 : validateIndexes(succeededIndexes, completions, at);
  if (succeededCount === undefined) return;
  at.nonNegative("succeededCount", succeededCount);
  const tooMany = (max: number, what: string) =>
    at.invalid("succeededCount", succeededCount, `must be less than or equal to ${max} (${what})`);
  if (succeededCount > completions) tooMany(completions, "the number of specified completions");
  if (succeededIndexes !== undefined && succeededCount > listed)
    tooMany(listed, "the number of indexes in the specified succeededIndexes field");
}

/** Returns the number of indexes, 0 if they cannot be parsed. */
function validateIndexes(indexes: string, completions: number, at: FieldErrors): number {
  if (indexes.length > maxIndexesLength) at.tooLong("succeededIndexes", maxIndexesLength);
  try {
    return countIndexes(parseIndexes(indexes, completions));
  } catch (error) {
    if (!(error instanceof IndexFormatError)) throw error;
    at.invalid("succeededIndexes", indexes, `error parsing succeededIndexes: ${error.message}`);
    return 0;
  }
}

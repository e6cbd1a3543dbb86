import { compile, evaluate, type Program } from "../../../cel/compile.ts";
import { fromJson } from "../../../cel/json-value.ts";
import { type Authorize, createAuthorizer, createResourceCheck } from "../../../cel/library/authorizer.ts";
import { boolType, formatType, isSameType } from "../../../cel/type.ts";
import type { Value } from "../../../cel/values.ts";
import { conditionEnvironment } from "./condition-environment.ts";

/** Limit of upstream for the costs of all match conditions of one webhook and one request. */
const costBudget = 2_500_000;

/** Expression of a match condition that is ready to run, or why it is not. */
export type CompiledCondition =
  | { readonly expression: string; readonly program: Program }
  | { readonly expression: string; readonly error: string; readonly type: "invalid" | "internal" };

export function compileCondition(expression: string): CompiledCondition {
  const compiled = compile(expression, conditionEnvironment);
  if ("errors" in compiled)
    return compiled.kind === "issues"
      ? { expression, error: `compilation failed: ${compiled.errors}`, type: "invalid" }
      : { expression, error: `program instantiation failed: ${compiled.errors}`, type: "internal" };
  const { program } = compiled;
  if (isSameType(program.type, boolType)) return { expression, program };
  const error = `must evaluate to bool but got ${formatType(program.type)}`;
  return { expression, error, type: "invalid" };
}

/** Values of the variables of match conditions. `request` is the AdmissionRequest without its objects. */
export interface ConditionInput {
  readonly object: object | undefined;
  readonly oldObject: object | undefined;
  readonly request: object;
  readonly authorize: Authorize;
  readonly requestResource: Parameters<typeof createResourceCheck>[1];
}

/** Whether a request meets all conditions. `errors` counts the conditions that failed before the first false one. */
export interface MatchResult {
  readonly kind: "matches" | "excluded" | "failed";
  readonly errors: number;
  /** Errors of the conditions of a failed match, in the form of upstream. */
  readonly message: string;
}

/**
 * Evaluates all conditions. A false condition excludes the request, whatever the others evaluate to; otherwise an error fails
 * the match.
 */
export function evaluateConditions(
  conditions: readonly CompiledCondition[],
  input: ConditionInput,
): MatchResult {
  const variables: Readonly<Record<string, () => Value>> = {
    object: () => fromJson(input.object),
    oldObject: () => fromJson(input.oldObject),
    namespaceObject: () => null,
    request: () => fromJson(input.request),
    authorizer: () => createAuthorizer(input.authorize),
    "authorizer.requestResource": () => createResourceCheck(input.authorize, input.requestResource),
  };
  const errors: string[] = [];
  let budget = costBudget;
  let excludedAfter: number | undefined;
  for (const condition of conditions) {
    if ("error" in condition) {
      errors.push(`compilation error: ${condition.error}`);
      continue;
    }
    const result = evaluate(condition.program, (name) => variables[name]?.());
    if (result.cost > budget) return { kind: "failed", errors: 0, message: outOfBudget };
    budget -= result.cost;
    if ("error" in result)
      errors.push(`expression '${condition.expression}' resulted in error: ${result.error}`);
    else if (result.value === false) excludedAfter ??= errors.length;
  }
  if (excludedAfter !== undefined) return { kind: "excluded", errors: excludedAfter, message: "" };
  const kind = errors.length > 0 ? "failed" : "matches";
  return { kind, errors: errors.length, message: joinErrors(errors) };
}

const outOfBudget =
  "validation failed due to running out of cost budget, no further validation rules will be run";

/** Joins messages as upstream: each once, in brackets if there are several. */
function joinErrors(messages: readonly string[]): string {
  const distinct = [...new Set(messages)];
  return distinct.length > 1 ? `[${distinct.join(", ")}]` : distinct.join("");
}

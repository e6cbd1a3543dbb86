import type { FieldErrors } from "../../../meta/field-errors.ts";
import { qualifiedNameProblems } from "../../../meta/names.ts";
import { conditionEngine } from "./condition-engine.ts";

/** Match condition of a webhook. Both fields may be missing before validation. */
export interface MatchCondition {
  readonly name?: string;
  readonly expression?: string;
}

const maxConditions = 64;

/** Validates the field `matchConditions` of `at`. The condition engine must be loaded if there are any. */
export function validateConditions(conditions: readonly MatchCondition[] | undefined, at: FieldErrors): void {
  if (!conditions) return;
  if (conditions.length > maxConditions) at.tooMany("matchConditions", conditions.length, maxConditions);
  const names = new Set<string>();
  at.each("matchConditions", conditions, ({ name = "", expression = "" }, atCondition) => {
    validateExpression(expression.trim(), atCondition);
    if (name === "") {
      atCondition.required("name");
      return;
    }
    atCondition.problems("name", name, qualifiedNameProblems(name));
    if (names.has(name)) atCondition.duplicate("name", name);
    names.add(name);
  });
}

function validateExpression(expression: string, at: FieldErrors): void {
  if (expression === "") {
    at.required("expression");
    return;
  }
  const compiled = conditionEngine().compileCondition(expression);
  if (!("error" in compiled)) return;
  if (compiled.type === "invalid") at.invalid("expression", expression, compiled.error);
  else at.internal("expression", compiled.error);
}

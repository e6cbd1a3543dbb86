import type { Expr } from "./ast.ts";
import { createFrame, type Run } from "./attributes.ts";
import { PlanError } from "./calls.ts";
import { type Checked, checkExpression } from "./checker.ts";
import type { Environment } from "./environment.ts";
import { planExpression } from "./evaluator.ts";
import { formatIssues } from "./issues.ts";
import { CostLimitError, createMeter } from "./meter.ts";
import { parseExpression } from "./parser.ts";
import { dynType, type Type } from "./type.ts";
import { validateLiterals } from "./validate-literals.ts";
import { CelError, type Value } from "./values.ts";

/** Compiled expression. */
export interface Program {
  readonly run: Run;
  readonly type: Type;
  /** Variables of the environment that the expression reads. */
  readonly variables: ReadonlySet<string>;
  readonly expr: Expr;
  readonly checked: Checked;
}

/** `issues` is the text of all errors in the form of cel-go; `instantiation` is set if a constant is invalid. */
export type Compiled =
  | { readonly program: Program }
  | { readonly errors: string; readonly kind: "issues" | "instantiation" };

/** Parses and checks an expression and makes it executable. */
export function compile(expression: string, environment: Environment): Compiled {
  const { expr, issues } = parseExpression(expression);
  if (!expr) return { errors: formatIssues(expression, issues), kind: "issues" };
  const checked = checkExpression(expr, environment);
  const found = checked.issues.length > 0 ? checked.issues : validateLiterals(expr, checked);
  if (found.length > 0) return { errors: formatIssues(expression, found), kind: "issues" };
  try {
    const run = planExpression(expr, checked, environment.structs);
    const type = checked.types.get(expr.id) ?? dynType;
    const names = [...checked.references.values()].flatMap((reference) =>
      reference.kind === "variable" && environment.variables.has(reference.name) ? [reference.name] : [],
    );
    return { program: { run, type, variables: new Set(names), expr, checked } };
  } catch (error) {
    if (!(error instanceof PlanError)) throw error;
    return { errors: error.message, kind: "instantiation" };
  }
}

/** Result of an evaluation. `cost` is in upstream's units, also after an error. */
export type Evaluated =
  | { readonly value: Exclude<Value, CelError>; readonly cost: number }
  | { readonly error: string; readonly cost: number };

/** Limit of upstream for one evaluation. */
const perCallLimit = 1_000_000;

/** Runs a program. Missing variables are errors of the evaluation. */
export function evaluate(
  program: Program,
  variables: Readonly<Record<string, Value>> | ((name: string) => Value | undefined),
  costLimit = perCallLimit,
): Evaluated {
  const meter = createMeter(costLimit);
  const read =
    typeof variables === "function"
      ? variables
      : (name: string) => (Object.hasOwn(variables, name) ? variables[name] : undefined);
  try {
    const value = program.run(createFrame(meter, read));
    return value instanceof CelError
      ? { error: value.message, cost: meter.cost }
      : { value, cost: meter.cost };
  } catch (error) {
    if (error instanceof CostLimitError) return { error: error.message, cost: meter.cost };
    // A deeply nested value exhausts the stack.
    if (error instanceof RangeError) return { error: new CostLimitError().message, cost: costLimit + 1 };
    throw error;
  }
}

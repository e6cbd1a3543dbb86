import { type FieldError, forbidden, invalid } from "../../meta/field-errors.ts";
import { isEmbeddedResource, type OpenApiSchema } from "../open-api-schema.ts";
import { type CompiledRule, compileRules, maxOccurrences } from "./compile-rules.ts";
import { declareType } from "./declared-type.ts";

/** Limits of upstream for the estimated cost of one expression and of all expressions of a schema. */
const expressionLimit = 10_000_000n;
const schemaLimit = 100_000_000n;
const maxUint64 = (1n << 64n) - 1n;
/** Share of the limit from which a rule is named as one of the most expensive ones. */
const expensive = schemaLimit / 100n;
const maxExpensive = 4;

/** Place of a schema with rules. */
interface RulePlace {
  readonly path: string;
  readonly isRoot: boolean;
  /** How often the value can occur in one object. Undefined without a limit. */
  readonly occurrences: bigint | undefined;
  /** Path of the list or map because of which old and new values cannot be correlated. */
  readonly uncorrelated: string | undefined;
}

/** Checks the rules of one schema: their syntax, their types and their costs. */
export interface DefinitionChecks {
  check(schema: OpenApiSchema, place: RulePlace): void;
  /** Errors of the expressions. Errors of the whole schema come last, in `totals`. */
  readonly errors: readonly FieldError[];
  totals(path: string): FieldError[];
}

export function createDefinitionChecks(): DefinitionChecks {
  const errors: FieldError[] = [];
  let total = 0n;
  let mostExpensive: { path: string; cost: bigint }[] = [];

  function observe(path: string, cost: bigint): void {
    total = bounded(total + cost);
    if (cost < expensive) return;
    mostExpensive = [...mostExpensive, { path, cost }]
      .sort((a, b) => (a.cost > b.cost ? -1 : 1))
      .slice(0, maxExpensive);
  }

  function checkRule(compiled: CompiledRule, place: RulePlace, at: string, cost: bigint): void {
    const { rule } = compiled;
    const report = (...found: FieldError[]) => errors.push(...found);
    if (cost > expressionLimit)
      report(forbidden(`${at}.rule`, costMessage("estimated rule cost", cost, expressionLimit)));
    observe(`${at}.rule`, cost);
    if (compiled.error !== undefined) report(invalid(`${at}.rule`, shownRule(rule), compiled.error));
    if (compiled.messageError !== undefined)
      report(invalid(`${at}.messageExpression`, shownRule(rule), compiled.messageError));
    else if (compiled.message) {
      const { messageMaxCost } = compiled;
      if (messageMaxCost > expressionLimit)
        report(
          forbidden(
            `${at}.messageExpression`,
            costMessage("estimated messageExpression cost", messageMaxCost, expressionLimit),
          ),
        );
      observe(`${at}.messageExpression`, messageMaxCost);
    }
    if (compiled.usesOldSelf) {
      const detail = `oldSelf cannot be used on the uncorrelatable portion of the schema within ${place.uncorrelated}`;
      if (place.uncorrelated !== undefined) report(invalid(`${at}.rule`, rule.rule, detail));
    } else if (rule.optionalOldSelf !== undefined)
      report(
        invalid(
          `${at}.optionalOldSelf`,
          rule.optionalOldSelf,
          "may not be set if oldSelf is not used in rule",
        ),
      );
  }

  return {
    errors,

    check(schema, place) {
      const field = `${place.path}.x-kubernetes-validations`;
      const declared = declareType(schema, "selfType", place.isRoot || isEmbeddedResource(schema));
      if (!declared) {
        const detail =
          "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
        errors.push({ type: "InternalError", field, message: `Internal error: ${detail}` });
        return;
      }
      const occurrences = place.occurrences ?? maxOccurrences(declared);
      for (const [i, compiled] of compileRules(schema, declared).entries())
        checkRule(compiled, place, `${field}[${i}]`, bounded(compiled.maxCost * occurrences));
    },

    totals(path) {
      if (total <= schemaLimit) return [];
      const detail =
        "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
      const name = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
      return [
        ...mostExpensive.map((rule) => forbidden(rule.path, detail)),
        forbidden(path, costMessage(name, total, schemaLimit)),
      ];
    },
  };
}

function bounded(value: bigint): bigint {
  const isTooLarge = value > maxUint64;
  return isTooLarge ? maxUint64 : value;
}

/** A rule as Go shows it: missing texts are not shown, and the fields have the order of the type. */
function shownRule({
  rule,
  message,
  messageExpression,
  reason,
  fieldPath,
  optionalOldSelf,
}: CompiledRule["rule"]) {
  return {
    rule,
    ...(message && { message }),
    ...(messageExpression && { messageExpression }),
    ...(reason !== undefined && { reason }),
    ...(fieldPath && { fieldPath }),
    ...(optionalOldSelf !== undefined && { optionalOldSelf }),
  };
}

function costMessage(name: string, cost: bigint, limit: bigint): string {
  const factor = Number(cost) / Number(limit);
  const shown = factor > 100 ? "more than 100x" : `${factor.toFixed(factor < 1.5 ? 6 : 1)}x`;
  const advice =
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared";
  return `${name} exceeds budget by factor of ${shown} (${advice})`;
}

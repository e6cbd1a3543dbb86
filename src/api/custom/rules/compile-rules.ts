import { compile, type Program } from "../../cel/compile.ts";
import { baseEnvironment } from "../../cel/environment-base.ts";
import { estimateCost } from "../../cel/estimate.ts";
import { boolType, isSameType, optionalType, stringType, type Type } from "../../cel/type.ts";
import type { OpenApiSchema, ValidationRule } from "../open-api-schema.ts";
import { type DeclaredType, maxRequestBytes, sizesOf, structsOf } from "./declared-type.ts";
import { parseFieldPath } from "./field-path.ts";

/** Rule of a schema that is ready to run. */
export interface CompiledRule {
  readonly rule: ValidationRule;
  /** Undefined for an empty or invalid rule. */
  readonly program: Program | undefined;
  readonly error: string | undefined;
  readonly usesOldSelf: boolean;
  /** Largest cost of one evaluation. */
  readonly maxCost: bigint;
  readonly message: Program | undefined;
  readonly messageError: string | undefined;
  readonly messageMaxCost: bigint;
  /** Path below the value at which errors are reported. Empty for the value itself. */
  readonly fieldPath: string;
}

/** How often a value can occur at most in one request. */
export function maxOccurrences({ minSize }: DeclaredType): bigint {
  return BigInt(Math.floor(maxRequestBytes / (minSize + 1)));
}

/** Compiles the rules of a schema whose values are of the declared type. */
export function compileRules(schema: OpenApiSchema, declared: DeclaredType): CompiledRule[] {
  const rules = schema["x-kubernetes-validations"] ?? [];
  const structs = structsOf(declared);
  const estimate = sizesOf(declared);
  const environment = (oldSelf: Type) => ({
    ...baseEnvironment,
    structs,
    variables: new Map([
      ["self", declared.type],
      ["oldSelf", oldSelf],
    ]),
  });
  return rules.map((rule) => {
    const own = environment(rule.optionalOldSelf ? optionalType(declared.type) : declared.type);
    const checked = compileAs(rule.rule, boolType, own, {
      prefix: "",
      wrongType: "cel expression must evaluate to a bool",
    });
    const hasMessage = checked.program !== undefined && Boolean(rule.messageExpression);
    const message = hasMessage
      ? compileAs(rule.messageExpression ?? "", stringType, own, {
          prefix: "messageExpression ",
          wrongType: "messageExpression must evaluate to a string",
        })
      : nothing;
    return {
      rule,
      program: checked.program,
      error: checked.error,
      usesOldSelf: checked.program?.variables.has("oldSelf") === true,
      maxCost: checked.program ? estimateCost(checked.program, estimate).max : 0n,
      message: message.program,
      messageError: message.error,
      messageMaxCost: message.program ? estimateCost(message.program, estimate).max : 0n,
      fieldPath: rule.fieldPath ? (parseFieldPath(rule.fieldPath, schema) ?? "") : "",
    };
  });
}

interface CompiledAs {
  readonly program: Program | undefined;
  readonly error: string | undefined;
}

const nothing: CompiledAs = { program: undefined, error: undefined };

function compileAs(
  expression: string,
  type: Type,
  environment: Parameters<typeof compile>[1],
  { prefix, wrongType }: { readonly prefix: string; readonly wrongType: string },
): CompiledAs {
  if (expression.trim() === "") return nothing;
  const compiled = compile(expression, environment);
  if ("errors" in compiled) {
    const stage =
      compiled.kind === "issues"
        ? "compilation failed"
        : prefix
          ? "instantiation failed"
          : "program instantiation failed";
    return { program: undefined, error: `${prefix}${stage}: ${compiled.errors}` };
  }
  if (!isSameType(compiled.program.type, type)) return { program: undefined, error: wrongType };
  return { program: compiled.program, error: undefined };
}

import { evaluate, type Program } from "../../cel/compile.ts";
import { fromJson } from "../../cel/json-value.ts";
import { Optional, type Value } from "../../cel/values.ts";
import {
  type FieldError,
  type FieldErrorType,
  forbidden,
  invalid,
  required,
} from "../../meta/field-errors.ts";
import { isJsonObject } from "../../schema/json-object.ts";
import { correlateItems } from "../correlate-items.ts";
import {
  additionalOf,
  hasRules,
  isEmbeddedResource,
  itemsOf,
  type OpenApiSchema,
  type ValidationRule,
} from "../open-api-schema.ts";
import { type CompiledRule, compileRules } from "./compile-rules.ts";
import { fieldPlace, isUnchanged, itemPlace, type Place, unrelated } from "./correlate.ts";
import { declareType, withObjectMeta } from "./declared-type.ts";
import { toValue } from "./schema-value.ts";

/** Limit of upstream for the costs of all rules of one object. */
const costBudget = 10_000_000;
const maxMessageBytes = 5 * 1024;

/** Errors of an object, and those of unchanged values, which an update reports as warnings. */
interface RuleResults {
  readonly errors: FieldError[];
  readonly ratcheted: FieldError[];
  /** Budget that is left; negative if rules were not run because it was used up. */
  readonly budget: number;
}

/** Runs the rules of a schema on objects. */
export interface RulesValidator {
  validate(
    value: unknown,
    options?: {
      readonly old?: unknown;
      readonly path?: string;
      readonly budget?: number | undefined;
      readonly ratchets?: boolean;
    },
  ): RuleResults;
}

/** Rules of a schema and of the schemas in it. */
interface RuleNode {
  readonly schema: OpenApiSchema;
  readonly rules: readonly CompiledRule[];
  readonly fields: ReadonlyMap<string, RuleNode>;
  readonly additional: RuleNode | undefined;
  readonly items: RuleNode | undefined;
}

/** Compiles all rules of a schema. */
export function createRulesValidator(schema: OpenApiSchema, isResourceRoot: boolean): RulesValidator {
  const root = createNode(schema, isResourceRoot);
  return {
    validate(value, { old, path = "", budget = costBudget, ratchets = true } = {}) {
      const run: Run = { errors: [], ratcheted: [], budget };
      const isUpdate = ratchets && old !== undefined;
      const place: Place = isUpdate ? { current: { value, old, schema }, parent: undefined } : unrelated;
      if (root) validateNode(root, { path, value, old, place }, run);
      return run;
    },
  };
}

function createNode(schema: OpenApiSchema, isResourceRoot: boolean): RuleNode | undefined {
  if (!hasRules(schema)) return undefined;
  const child = (part: OpenApiSchema | undefined) => part && createNode(part, isEmbeddedResource(part));
  const fields = new Map<string, RuleNode>();
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const node = child(property);
    if (node) fields.set(key, node);
  }
  const declared = schema["x-kubernetes-validations"]?.length
    ? declareType(schema, "selfType", isResourceRoot)
    : undefined;
  return {
    schema: isResourceRoot ? withObjectMeta(schema) : schema,
    rules: declared ? compileRules(schema, declared) : [],
    fields,
    additional: child(additionalOf(schema)),
    items: child(itemsOf(schema)),
  };
}

interface Run {
  readonly errors: FieldError[];
  readonly ratcheted: FieldError[];
  budget: number;
}

interface Target {
  readonly path: string;
  readonly value: unknown;
  readonly old: unknown;
  readonly place: Place;
}

function validateNode(node: RuleNode, target: Target, run: Run): void {
  const { value, old, path, place } = target;
  if (value === null || value === undefined) return;
  if (node.rules.length > 0) runRules(node, target, run);
  if (Array.isArray(value) && node.items) {
    const oldItem = correlateItems(value, { value: old }, node.schema);
    for (let i = 0; i < value.length && run.budget >= 0; i++)
      validateNode(
        node.items,
        { path: `${path}[${i}]`, value: value[i], old: oldItem(i)?.value, place: itemPlace(place, i) },
        run,
      );
  } else if (isJsonObject(value)) {
    const before = isJsonObject(old) ? old : {};
    for (const key of Object.keys(value)) {
      const field = node.fields.get(key);
      const child = field ?? node.additional;
      if (!child || run.budget < 0) continue;
      const named = path === "" ? key : `${path}.${key}`;
      const childPath = field ? named : `${path}[${key}]`;
      const oldValue = Object.hasOwn(before, key) ? before[key] : undefined;
      validateNode(
        child,
        { path: childPath, value: value[key], old: oldValue, place: fieldPlace(place, key) },
        run,
      );
    }
  }
}

/** As Go shows the path of the root. */
const shownPath = (path: string) => path || "<nil>";

function runRules(node: RuleNode, target: Target, run: Run): void {
  const { path, value, old } = target;
  const field = shownPath(path);
  const type = node.schema.type ?? "";
  const stop = (detail: string) => {
    run.errors.push(invalid(field, type, detail));
    run.budget = -1;
  };
  const outOfBudget =
    "validation failed due to running out of cost budget, no further validation rules will be run";
  if (run.budget <= 0) {
    if (run.budget === 0) stop(outOfBudget);
    return;
  }
  const hasOld = old !== undefined && old !== null;
  const self = toValue(value, node.schema);
  const oldSelf = hasOld ? toValue(old, node.schema) : undefined;
  for (const compiled of node.rules) {
    const { rule, program, usesOldSelf } = compiled;
    const isOptional = rule.optionalOldSelf === true;
    if (compiled.error !== undefined)
      run.errors.push(invalid(field, type, `rule compile error: ${compiled.error}`));
    // A transition rule is run only if there is a value to compare with.
    if (!program || (usesOldSelf && !hasOld && !isOptional)) continue;
    // As upstream, the optional value is without its schema: a date is a text.
    const optional = hasOld ? Optional.of(fromJson(old)) : Optional.none;
    const read = (name: string): Value | undefined =>
      name === "self" ? self : isOptional ? optional : oldSelf;
    const result = evaluate(program, read);
    if (result.cost > run.budget) {
      stop(outOfBudget);
      return;
    }
    run.budget -= result.cost;
    if ("error" in result) {
      const { error } = result;
      const shown = shownRule(rule);
      if (error.startsWith("operation cancelled: actual cost limit exceeded")) {
        stop(
          `'${error}': no further validation rules will be run due to call cost exceeds limit for rule: ${shown}`,
        );
        return;
      }
      const detail = error.startsWith("no such overload")
        ? `'${error}': call arguments did not match a supported operator, function or macro signature for rule: ${shown}`
        : `${error} evaluating rule: ${shown}`;
      run.errors.push(invalid(field, type, detail));
      continue;
    }
    if (result.value === true) continue;
    const at = compiled.fieldPath
      ? path === ""
        ? compiled.fieldPath
        : `${path}.${compiled.fieldPath}`
      : field;
    const into = !usesOldSelf && isUnchanged(target.place) ? run.ratcheted : run.errors;
    const message = compiled.message
      ? evaluateMessage(compiled.message, rule, (name) => (name === "self" ? self : oldSelf), run)
      : undefined;
    if (message && "failure" in message) {
      into.push(invalid(at, type, message.failure));
      run.budget = -1;
      return;
    }
    into.push(ruleError(at, rule, message?.text ?? defaultMessage(rule), type, value));
  }
}

function shownRule({ rule, message }: ValidationRule): string {
  return (message || rule).trim();
}

function defaultMessage(rule: ValidationRule): string {
  return rule.message ? rule.message.trim() : `failed rule: ${shownRule(rule)}`;
}

/** Message of a message expression. Undefined if the expression fails: the rule has another message. */
function evaluateMessage(
  program: Program,
  { messageExpression }: ValidationRule,
  read: (name: string) => Value | undefined,
  run: Run,
): { readonly text: string } | { readonly failure: string } | undefined {
  const result = evaluate(program, read);
  const stopped = "no further validation rules will be run";
  if (result.cost > run.budget)
    return { failure: `messageExpression evaluation failed due to running out of cost budget, ${stopped}` };
  if ("error" in result && result.error.startsWith("operation cancelled: actual cost limit exceeded"))
    return {
      failure: `${stopped} due to call cost exceeds limit for messageExpression: ${JSON.stringify(messageExpression)}`,
    };
  run.budget -= result.cost;
  if ("error" in result || typeof result.value !== "string") return undefined;
  const text = result.value.trim();
  const isUsable = text !== "" && !text.includes("\n") && Buffer.byteLength(text) <= maxMessageBytes;
  return isUsable ? { text } : undefined;
}

/** Error of a rule with its reason. Values of objects and lists are not shown. */
function ruleError(
  field: string,
  rule: ValidationRule,
  detail: string,
  type: string,
  value: unknown,
): FieldError {
  const isContainer = type === "object" || type === "array";
  const shown = (kind: FieldErrorType, head: string, text: string): FieldError => ({
    type: kind,
    field,
    message: [head, ...(isContainer ? [] : [JSON.stringify(value)]), ...(text ? [text] : [])].join(": "),
  });
  switch (rule.reason) {
    case "FieldValueForbidden":
      return forbidden(field, detail);
    case "FieldValueRequired":
      return required(field, detail);
    case "FieldValueDuplicate":
      return shown("FieldValueDuplicate", "Duplicate value", "");
    default:
      return shown("FieldValueInvalid", "Invalid value", detail);
  }
}

import { type FieldError, FieldErrors } from "../meta/field-errors.ts";
import { isEqual } from "../meta/is-equal.ts";
import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { correlateItems, type Old } from "./correlate-items.ts";
import { formatOf, isOfFormat } from "./formats.ts";
import {
  additionalOf,
  fieldSchema,
  isIntOrString,
  itemsOf,
  type OpenApiSchema,
  propertyOf,
} from "./open-api-schema.ts";
import { compilePattern } from "./pattern.ts";
import { validateNumber } from "./validate-number.ts";

/**
 * Validates a value against a schema, with upstream's messages. Errors of an update are ignored where the value is
 * unchanged (ratcheting), so that a stricter schema does not prevent changes of other fields.
 *
 * Field paths are below `prefix`; messages contain the path without it, as upstream.
 */
export function validateValue(
  value: unknown,
  schema: OpenApiSchema,
  options: { readonly prefix?: string; readonly old?: Old } = {},
): FieldError[] {
  const found = validate({ value, path: "", old: options.old }, schema);
  const at = new FieldErrors(options.prefix ?? "");
  // Several branches of anyOf and allOf can report the same error.
  const seen = new Set<string>();
  for (const report of found.errors) {
    const before = at.errors.length;
    report(at);
    const added = at.errors[before];
    const key = added && `${added.field} ${added.message}`;
    if (key !== undefined && seen.has(key)) at.errors.pop();
    else if (key !== undefined) seen.add(key);
  }
  return at.errors;
}

interface Place {
  readonly value: unknown;
  /** `spec.list[0].name`; empty at the root. */
  readonly path: string;
  readonly old: Old;
}

type Report = (at: FieldErrors) => void;

interface Found {
  readonly errors: Report[];
  /** Number of checks, by which the closest branch of anyOf and oneOf is chosen. */
  checks: number;
}

/** Limit for the number of errors: a hostile object could have hundreds of thousands. */
const maxErrors = 1_000;

function validate(place: Place, schema: OpenApiSchema): Found {
  const found: Found = { errors: [], checks: 1 };
  const { value, path, old } = place;
  validateType(place, schema, found);
  if (value !== null) {
    validateJunctors(place, schema, found);
    if (typeof value === "string") validateString(value, path, schema, found);
    if (typeof value === "number") {
      found.checks++;
      for (const report of validateNumber(value, path, schema)) found.errors.push(report);
    }
    if (Array.isArray(value)) validateList(value, place, schema, found);
  }
  validateEnum(place, schema, found);
  if (isJsonObject(value)) validateFields(value, place, schema, found);
  // An unchanged value stays valid. Type meta at the root is not a value of the user.
  const isTypeMeta = path === "kind" || path === "apiVersion";
  if (found.errors.length > 0 && old && !isTypeMeta && isEqual(old.value, value)) found.errors.length = 0;
  return found;
}

function merge(into: Found, { errors, checks }: Found): void {
  for (const error of errors) if (into.errors.length < maxErrors) into.errors.push(error);
  into.checks += checks;
}

function validateType({ value, path }: Place, schema: OpenApiSchema, found: Found): void {
  const types = isIntOrString(schema) ? ["integer", "string"] : schema.type ? [schema.type] : [];
  if (types.length === 0) return;
  found.checks++;
  const type = jsonType(value);
  const matches =
    value === null
      ? schema.nullable === true || types.includes("null")
      : types.includes(type) || (type === "integer" && types.includes("number"));
  if (matches) {
    found.checks++;
    return;
  }
  const detail = `${path} in body must be of type ${types.join(",")}: ${JSON.stringify(type)}`;
  found.errors.push((at) => at.typeInvalid(path, type, detail));
}

function jsonType(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  if (typeof value === "number") return Number.isInteger(value) ? "integer" : "number";
  return typeof value;
}

function validateJunctors(place: Place, schema: OpenApiSchema, found: Found): void {
  found.checks++;
  const { anyOf = [], oneOf = [], allOf = [], not } = schema;
  const shown = JSON.stringify(place.path);
  // Upstream reports these without a field.
  const report = (text: string) => found.errors.push((at) => at.invalid(at.path ? "" : "<nil>", "", text));
  if (anyOf.length > 0) {
    const results = validateUntilValid(place, anyOf);
    const best = bestOf(results);
    if (best.errors.length > 0) report(`${shown} must validate at least one schema (anyOf)`);
    merge(found, best);
  }
  if (oneOf.length > 0) {
    const results = oneOf.map((branch) => validate(place, branch));
    const valid = results.filter(({ errors }) => errors.length === 0).length;
    if (valid !== 1) {
      const detail = valid === 0 ? "Found none valid" : `Found ${valid} valid alternatives`;
      report(`${shown} must validate one and only one schema (oneOf). ${detail}`);
    }
    if (valid <= 1) merge(found, bestOf(results));
  }
  if (allOf.length > 0) {
    const results = allOf.map((branch) => validate(place, branch));
    const valid = results.filter(({ errors }) => errors.length === 0).length;
    for (const result of results) merge(found, result);
    if (valid < allOf.length) {
      report(`${shown} must validate all the schemas (allOf)${valid === 0 ? ". None validated" : ""}`);
    }
  }
  if (not && validate(place, not).errors.length === 0) report(`${shown} must not validate the schema (not)`);
}

function validateUntilValid(place: Place, branches: readonly OpenApiSchema[]): Found[] {
  const results: Found[] = [];
  for (const branch of branches) {
    const result = validate(place, branch);
    if (result.errors.length === 0) return [result];
    results.push(result);
  }
  return results;
}

/** The first valid result, or the one with the most checks. */
function bestOf(results: readonly Found[]): Found {
  const valid = results.find(({ errors }) => errors.length === 0);
  if (valid) return valid;
  return results.reduce((best, next) => (next.checks > best.checks ? next : best));
}

function validateString(value: string, path: string, schema: OpenApiSchema, found: Found): void {
  found.checks++;
  const { maxLength, minLength, pattern } = schema;
  if (maxLength !== undefined || minLength !== undefined) {
    const length = codePoints(value);
    if (maxLength !== undefined && length > maxLength) found.errors.push((at) => at.tooLong(path, maxLength));
    if (minLength !== undefined && length < minLength) {
      const detail = `${path} in body should be at least ${minLength} chars long`;
      found.errors.push((at) => at.invalid(path, value, detail));
    }
  }
  if (pattern && !compilePattern(pattern).test(value)) {
    found.errors.push((at) => at.invalid(path, value, `${path} in body should match '${pattern}'`));
  }
  const format = formatOf(schema);
  if (format && !isOfFormat(format, value)) {
    const detail = `${path} in body must be of type ${format}: ${JSON.stringify(value)}`;
    found.errors.push((at) => at.typeInvalid(path, value, detail));
  }
}

function codePoints(text: string): number {
  let count = 0;
  for (const _ of text) count++;
  return count;
}

function validateList(items: readonly unknown[], place: Place, schema: OpenApiSchema, found: Found): void {
  found.checks += 2;
  const { path, old } = place;
  const itemSchema = itemsOf(schema);
  if (itemSchema) {
    const oldItems = correlateItems(items, old, schema);
    for (let i = 0; i < items.length; i++) {
      merge(found, validate({ value: items[i], path: `${path}[${i}]`, old: oldItems(i) }, itemSchema));
      if (found.errors.length >= maxErrors) return;
    }
  }
  const { minItems, maxItems } = schema;
  if (minItems !== undefined && items.length < minItems) {
    const detail = `${path} in body should have at least ${minItems} items`;
    found.errors.push((at) => at.invalid(path, items.length, detail));
  }
  if (maxItems !== undefined && items.length > maxItems)
    found.errors.push((at) => at.tooMany(path, items.length, maxItems));
}

function validateEnum({ value, path }: Place, schema: OpenApiSchema, found: Found): void {
  found.checks++;
  const { enum: allowed } = schema;
  if (!allowed || allowed.length === 0 || allowed.some((other) => isEqual(other, value))) return;
  if (value === null && schema.nullable) return;
  const supported = allowed.map((item) => (typeof item === "string" ? item : JSON.stringify(item)));
  found.errors.push((at) => at.notSupported(path, value, supported));
}

function validateFields(object: JsonObject, place: Place, schema: OpenApiSchema, found: Found): void {
  found.checks++;
  const { path, old } = place;
  const keys = Object.keys(object);
  const { minProperties, maxProperties, required = [] } = schema;
  if (minProperties !== undefined && keys.length < minProperties) {
    const detail = `${path} in body should have at least ${minProperties} properties`;
    found.errors.push((at) => at.invalid(path, keys.length, detail));
  }
  if (maxProperties !== undefined && keys.length > maxProperties)
    found.errors.push((at) => at.tooMany(path, keys.length, maxProperties));
  const oldFields = old && isJsonObject(old.value) ? old.value : undefined;
  for (const key of keys) {
    const property = propertyOf(schema, key);
    if (!property && schema.additionalProperties === false) {
      const detail = `${path}.${key} in body is a forbidden property`;
      found.errors.push((at) => at.invalid(path, key, detail));
      continue;
    }
    const child = property ?? additionalOf(schema);
    if (!child) continue;
    const oldChild = oldFields && fieldSchema(schema, key) ? { value: ownValue(oldFields, key) } : undefined;
    const childPath = path ? `${path}.${key}` : key;
    merge(found, validate({ value: object[key], path: childPath, old: oldChild }, child));
    if (found.errors.length >= maxErrors) return;
  }
  for (const key of required) {
    if (!Object.hasOwn(object, key)) found.errors.push((at) => at.required(path ? `${path}.${key}` : key));
  }
}

function ownValue(object: JsonObject, key: string): unknown {
  return Object.hasOwn(object, key) ? object[key] : undefined;
}

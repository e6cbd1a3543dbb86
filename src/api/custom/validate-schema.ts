import { type FieldError, FieldErrors } from "../meta/field-errors.ts";
import {
  additionalOf,
  hasRules,
  isEmbeddedResource,
  itemsOf,
  metaFields,
  type OpenApiSchema,
  propertyOf,
  schemasIn,
} from "./open-api-schema.ts";
import { ruleEngine } from "./rule-engine.ts";
import type { DefinitionChecks } from "./rules/check-definition.ts";
import { parseFieldPath } from "./rules/field-path.ts";
import { validateSchemaDefaults } from "./validate-defaults.ts";
import { validateStructural } from "./validate-structural.ts";

/** Validates the schema of a version at its path, with upstream's messages. */
export function validateSchema(
  schema: OpenApiSchema,
  options: { readonly path: string; readonly hasStatus: boolean },
): FieldError[] {
  const { path } = options;
  const at = new FieldErrors(path);
  if (options.hasStatus) validateRootFields(schema, at);
  if (schema.nullable) at.forbidden("nullable", "nullable cannot be true at the root");
  // As upstream, a schema with unsupported fields is not checked for its structure: only these fields are reported.
  const isSupported = [...schemasIn(schema)].every(
    (part) => !Array.isArray(part.items) && unsupported.every((field) => part[field] === undefined),
  );
  const structural = isSupported ? validateStructural(schema, path) : [];
  const defaults = isSupported && structural.length === 0 ? validateSchemaDefaults(schema, path) : [];
  const isStructural = isSupported && structural.length + defaults.length === 0;
  const rules = isStructural && hasRules(schema) ? ruleEngine().createDefinitionChecks() : undefined;
  const openApi = new FieldErrors(path);
  const context: Context = { isRoot: true, insideMeta: false, noDefaults: undefined, rules, occurrences: 1n };
  validateLevel(schema, openApi, context);
  const ruleErrors = [...(rules?.errors ?? []), ...(rules?.totals(path) ?? [])];
  return [...at.errors, ...structural, ...defaults, ...openApi.errors, ...ruleErrors];
}

const allowedAtRoot = [
  "Description",
  "Type",
  "Format",
  "Title",
  "Maximum",
  "ExclusiveMaximum",
  "Minimum",
  "ExclusiveMinimum",
  "MaxLength",
  "MinLength",
  "Pattern",
  "MaxItems",
  "MinItems",
  "UniqueItems",
  "MultipleOf",
  "Required",
  "Items",
  "Properties",
  "ExternalDocs",
  "Example",
  "XPreserveUnknownFields",
  "XValidations",
];
const allowedFields = new Set([
  ...allowedAtRoot.filter((name) => !name.startsWith("XV") && !name.startsWith("XP")).map(uncapitalized),
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-validations",
]);

function uncapitalized(name: string): string {
  return name.charAt(0).toLowerCase() + name.slice(1);
}

/** With a status subresource, the schema of the status is used alone: the root must not restrict it. */
function validateRootFields(schema: OpenApiSchema, at: FieldErrors): void {
  if (schema.type !== undefined && schema.type !== "object") {
    const detail =
      'only "object" is allowed as the type at the root of the schema if the status subresource is enabled';
    at.invalid("type", schema.type, detail);
    return;
  }
  if (Object.keys(schema).every((field) => allowedFields.has(field))) return;
  const detail = `only [${allowedAtRoot.join(" ")}] fields are allowed at the root of the schema if the status subresource is enabled`;
  at.invalid("", schema, detail);
}

interface Context {
  readonly isRoot: boolean;
  /** Whether the schema is that of apiVersion, kind or metadata. */
  readonly insideMeta: boolean;
  /** Reason why defaults are not allowed here. */
  readonly noDefaults: string | undefined;
  /** Checks of expressions. Undefined if the schema has no rules or is not structural. */
  readonly rules: DefinitionChecks | undefined;
  /** How often a value can occur in one object. Undefined without a limit. */
  readonly occurrences: bigint | undefined;
  /** Path of the list because of which the old value of an item is not known. */
  readonly uncorrelated?: string;
}

const unsupported = ["additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] as const;

const types = ["array", "boolean", "integer", "number", "object", "string"];

function validateLevel(schema: OpenApiSchema, at: FieldErrors, context: Context): void {
  const errorsBefore = at.errors.length;
  validateSupported(schema, at, context);
  const max = maxElementsOf(schema);
  const occurrences =
    context.occurrences === undefined || max === undefined ? undefined : context.occurrences * max;
  const inside: Context = { ...context, isRoot: false, occurrences };
  const nested: Context = { ...inside, rules: undefined };
  const additional = additionalOf(schema);
  if (schema.additionalProperties !== undefined && schema.additionalProperties !== true) {
    if (Object.keys(schema.properties ?? {}).length > 0)
      at.forbidden("additionalProperties", "additionalProperties and properties are mutual exclusive");
  }
  if (additional) {
    const noDefaults = "inside additionalProperties applying to object metadata";
    const child = context.insideMeta ? { ...inside, noDefaults } : inside;
    validateLevel(additional, at.child("additionalProperties"), child);
  }
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const isMeta = (context.isRoot || isEmbeddedResource(schema)) && metaFields.has(key);
    validateLevel(property, at.child("properties").child(`[${key}]`), {
      ...inside,
      insideMeta: inside.insideMeta || isMeta,
      noDefaults: isMeta && context.isRoot ? `in top-level ${key}` : inside.noDefaults,
    });
  }
  if (schema.not) validateLevel(schema.not, at.child("not"), nested);
  for (const junctor of ["allOf", "oneOf", "anyOf"] as const)
    at.each(junctor, schema[junctor], (branch, place) => validateLevel(branch, place, nested));
  const items = itemsOf(schema);
  if (items) {
    const isCorrelated = schema["x-kubernetes-list-type"] === "map";
    const uncorrelated = context.uncorrelated ?? (isCorrelated ? undefined : at.path);
    validateLevel(items, at.child("items"), {
      ...inside,
      ...(uncorrelated !== undefined && { uncorrelated }),
    });
  }
  if (schema["x-kubernetes-preserve-unknown-fields"] === false)
    at.invalid("x-kubernetes-preserve-unknown-fields", false, "must be true or undefined");
  validateMapType(schema, at);
  validateListType(schema, at);
  validateRules(schema, at);
  if (schema["x-kubernetes-validations"]?.length && at.errors.length === errorsBefore) {
    const { isRoot, occurrences: own, uncorrelated } = context;
    context.rules?.check(schema, { path: at.path, isRoot, occurrences: own, uncorrelated });
  }
}

function validateSupported(schema: OpenApiSchema, at: FieldErrors, context: Context): void {
  const { type, items } = schema;
  if (type && type !== "null" && !types.includes(type)) at.notSupported("type", type, types);
  if (schema.default !== undefined && context.noDefaults !== undefined)
    at.forbidden("default", `must not be set ${context.noDefaults}`);
  if (schema.id) at.forbidden("id", "id is not supported");
  for (const field of unsupported)
    if (schema[field] !== undefined) at.forbidden(field, `${field} is not supported`);
  if (type === "null") {
    at.notSupported("type", type, types);
    at.forbidden("type", "type cannot be set to null, use nullable as an alternative");
  }
  if (Array.isArray(items)) at.forbidden("items", "items must be a schema object and not an array");
  if (context.insideMeta && isEmbeddedResource(schema))
    at.forbidden("x-kubernetes-embedded-resource", "must not be used inside of resource meta");
  if (schema.uniqueItems) {
    const detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
    at.forbidden("uniqueItems", detail);
  }
}

function validateMapType(schema: OpenApiSchema, at: FieldErrors): void {
  const mapType = schema["x-kubernetes-map-type"];
  if (mapType === undefined) return;
  if (schema.type !== "object")
    requireType(schema, "must be object if x-kubernetes-map-type is specified", at);
  at.oneOf("x-kubernetes-map-type", mapType, ["atomic", "granular"]);
}

function requireType({ type }: OpenApiSchema, detail: string, at: FieldErrors): void {
  if (type) at.invalid("type", type, detail);
  else at.required("type", detail);
}

function validateListType(schema: OpenApiSchema, at: FieldErrors): void {
  const listType = schema["x-kubernetes-list-type"];
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  const items = itemsOf(schema);
  const keysDetail = "must be map if x-kubernetes-list-map-keys is non-empty";
  if (listType === undefined) {
    if (keys.length > 0) at.required("x-kubernetes-list-type", keysDetail);
    return;
  }
  if (schema.type !== "array")
    requireType(schema, "must be array if x-kubernetes-list-type is specified", at);
  else if (listType === "set" && items) validateSetItems(items, at.child("items"));
  at.oneOf("x-kubernetes-list-type", listType, ["atomic", "set", "map"]);
  if (keys.length > 0 && listType !== "map") at.invalid("x-kubernetes-list-type", listType, keysDetail);
  if (listType === "map") validateMapList(schema, keys, at);
  if ((listType === "set" || listType === "map") && items) validateMapKeys(items, { listType, keys }, at);
}

function validateSetItems(items: OpenApiSchema, at: FieldErrors): void {
  const detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
  const listType = items["x-kubernetes-list-type"];
  if (items.type === "array" && listType !== undefined && listType !== "atomic")
    at.invalid("x-kubernetes-list-type", listType, detail);
  // Upstream shows the list type in this error.
  if (items.type === "object" && items["x-kubernetes-map-type"] !== "atomic")
    at.invalid("x-kubernetes-map-type", listType, detail);
}

function validateMapList(schema: OpenApiSchema, keys: readonly string[], at: FieldErrors): void {
  if (keys.length === 0)
    at.required("x-kubernetes-list-map-keys", "must not be empty if x-kubernetes-list-type is map");
  if (schema.items === undefined) at.required("items", "must have a schema if x-kubernetes-list-type is map");
  const items = itemsOf(schema);
  if (schema.items !== undefined && !items)
    at.invalid("items", schema.items, "must only have a single schema if x-kubernetes-list-type is map");
  if (!items) return;
  if (items.type !== "object") {
    const detail = "must be object if parent array's x-kubernetes-list-type is map";
    at.invalid("items.type", items.type ?? "", detail);
    return;
  }
  const seen = new Set<string>();
  for (const key of keys) {
    const property = propertyOf(items, key);
    if (!property)
      at.invalid("x-kubernetes-list-map-keys", keys, "entries must all be names of item properties");
    else if (property.type === "array" || property.type === "object") {
      const detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
      at.invalid(`items.properties[${key}].type`, items.type, detail);
    }
    if (seen.has(key)) at.invalid("x-kubernetes-list-map-keys", keys, "must not contain duplicate entries");
    seen.add(key);
  }
}

/** Items of sets and maps cannot be null, and the keys of a map are always present. */
function validateMapKeys(
  items: OpenApiSchema,
  { listType, keys }: { listType: "set" | "map"; keys: readonly string[] },
  at: FieldErrors,
): void {
  if (items.nullable)
    at.forbidden("items.nullable", `cannot be nullable when x-kubernetes-list-type is ${listType}`);
  if (listType !== "map") return;
  const subject = "this property is in x-kubernetes-list-map-keys, so it";
  for (const key of keys) {
    const property = propertyOf(items, key);
    if (!property) continue;
    if (!items.required?.includes(key) && property.default === undefined)
      at.required(
        `items.properties[${key}].default`,
        `${subject} must have a default or be a required property`,
      );
    if (property.nullable) at.forbidden(`items.properties[${key}].nullable`, `${subject} cannot be nullable`);
  }
}

const reasons = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/** Checks the fields of rules. Their expressions are checked only if the schema is valid otherwise. */
function validateRules(schema: OpenApiSchema, at: FieldErrors): void {
  const hasBreak = (text: string) => /[\n\r]/.test(text);
  at.each("x-kubernetes-validations", schema["x-kubernetes-validations"], (rule, place) => {
    const { message = "", messageExpression = "", fieldPath = "" } = rule;
    if ((rule.rule ?? "").trim() === "") place.required("rule", "rule is not specified");
    else if (message !== "" && message.trim() === "")
      place.invalid("message", message, "must be non-empty if specified");
    else if (hasBreak(message.trim())) place.invalid("message", message, "must not contain line breaks");
    else if (hasBreak(rule.rule.trim()) && message.trim() === "")
      place.required("message", "message must be specified if rule contains line breaks");
    if (messageExpression !== "" && messageExpression.trim() === "")
      place.required("messageExpression", "messageExpression must be non-empty if specified");
    place.oneOf("reason", rule.reason, reasons);
    if (fieldPath !== "" && fieldPath.trim() === "")
      place.invalid("fieldPath", fieldPath, "must be non-empty if specified");
    if (hasBreak(fieldPath)) place.invalid("fieldPath", fieldPath, "must not contain line breaks");
    if (fieldPath !== "" && parseFieldPath(fieldPath, schema) === undefined)
      place.invalid("fieldPath", fieldPath, "must be a valid path");
  });
}

/** Largest number of values that one value of the schema contains. Undefined without a limit. */
function maxElementsOf(schema: OpenApiSchema): bigint | undefined {
  const limit = (max: number | undefined) =>
    max === undefined ? undefined : BigInt(Math.max(0, Math.trunc(max)));
  if (schema.type === "array") return limit(schema.maxItems);
  return schema.type === "object" && schema.additionalProperties !== undefined
    ? limit(schema.maxProperties)
    : 1n;
}

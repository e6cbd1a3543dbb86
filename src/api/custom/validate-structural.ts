import { type FieldError, FieldErrors } from "../meta/field-errors.ts";
import { isEqual } from "../meta/is-equal.ts";
import {
  additionalOf,
  isEmbeddedResource,
  isIntOrString,
  itemsOf,
  type OpenApiSchema,
  preservesUnknownFields,
  propertyOf,
} from "./open-api-schema.ts";
import { compilePattern, PatternSyntaxError } from "./pattern.ts";

/**
 * Checks that a schema is structural: types and properties are specified outside of allOf, anyOf, oneOf and not, and every
 * field that is specified inside is specified outside too. Errors are sorted by their text, as upstream.
 */
export function validateStructural(schema: OpenApiSchema, path: string): FieldError[] {
  const at = new FieldErrors(path);
  validateLevel(schema, "root", at);
  validateComplete(schema, { schema, path }, at);
  return at.errors.sort((a, b) => (textOf(a) < textOf(b) ? -1 : 1));
}

function textOf({ field, message }: FieldError): string {
  return `${field}: ${message}`;
}

type Level = "root" | "item" | "field";

const emptyTypeDetails: Readonly<Record<Level, string>> = {
  root: "must not be empty at the root",
  item: "must not be empty for specified array items",
  field: "must not be empty for specified object fields",
};

function validateLevel(schema: OpenApiSchema, level: Level, at: FieldErrors): void {
  const items = itemsOf(schema);
  if (schema.type === "array" && !items) at.required("items", "must be specified");
  if (items) validateLevel(items, "item", at.child("items"));
  const properties = at.child("properties");
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    validateLevel(property, "field", properties.child(`[${key}]`));
  if (schema.additionalProperties !== undefined) {
    if (level === "root") at.forbidden("additionalProperties", "must not be used at the root");
    const additional = additionalOf(schema);
    if (additional) validateLevel(additional, "field", at.child("additionalProperties"));
  }
  validateExtensions(schema, at);
  validateValidations(schema, at, intOrStringForm(schema));
  validateTypes(schema, level, at);
}

function validateExtensions(schema: OpenApiSchema, at: FieldErrors): void {
  if (!isIntOrString(schema)) return;
  const detail = "must be false if x-kubernetes-int-or-string is true";
  if (preservesUnknownFields(schema)) at.invalid("x-kubernetes-preserve-unknown-fields", true, detail);
  if (isEmbeddedResource(schema)) at.invalid("x-kubernetes-embedded-resource", true, detail);
}

function validateTypes(schema: OpenApiSchema, level: Level, at: FieldErrors): void {
  const { type = "", properties = {} } = schema;
  const embedded = isEmbeddedResource(schema);
  if (embedded && type !== "object") {
    const detail = "must be object if x-kubernetes-embedded-resource is true";
    if (type === "") at.required("type", detail);
    else at.invalid("type", type, detail);
  } else if (type === "" && !isIntOrString(schema) && !preservesUnknownFields(schema)) {
    at.required("type", emptyTypeDetails[level]);
  }
  if (embedded && schema.additionalProperties !== undefined)
    at.forbidden("additionalProperties", "must not be used if x-kubernetes-embedded-resource is set");
  if (level === "root" && type !== "" && type !== "object")
    at.invalid("type", type, "must be object at the root");
  const hasMeta = level === "root" || embedded;
  for (const field of hasMeta ? ["kind", "apiVersion"] : []) {
    const property = propertyOf(schema, field);
    if (property && property.type !== "string")
      at.invalid(`properties[${field}].type`, property.type ?? "", "must be string");
  }
  const metadata = propertyOf(schema, "metadata");
  if (metadata && hasMeta && metadata.type !== "object")
    at.invalid("properties[metadata].type", metadata.type ?? "", "must be object");
  if (metadata && level === "root" && !isPlainMetadata(metadata)) {
    const detail =
      "must not specify anything other than name and generateName, but metadata is implicitly specified";
    at.forbidden("properties[metadata]", detail);
  }
  if (embedded && !preservesUnknownFields(schema) && Object.keys(properties).length === 0) {
    const detail =
      "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
    at.required("properties", detail);
  }
}

/** Whether a schema of metadata restricts name and generateName only. */
function isPlainMetadata({
  type: _type,
  default: _default,
  properties = {},
  ...rest
}: OpenApiSchema): boolean {
  const keys = Object.keys(properties);
  return keys.every((key) => key === "name" || key === "generateName") && Object.keys(rest).length === 0;
}

/** The two forms in which int-or-string repeats its types in anyOf. */
function intOrStringForm({ anyOf, allOf }: OpenApiSchema): "anyOf" | "allOf" | undefined {
  const types = [{ type: "integer" }, { type: "string" }];
  if (isEqual(anyOf, types)) return "anyOf";
  return isEqual(allOf?.[0]?.anyOf, types) ? "allOf" : undefined;
}

/** Checks the validations of a schema: only values may be restricted in anyOf, allOf, oneOf and not. */
function validateValidations(
  schema: OpenApiSchema,
  at: FieldErrors,
  typesIn: "anyOf" | "allOf" | undefined,
): void {
  if (typesIn !== "anyOf") at.each("anyOf", schema.anyOf, (branch, place) => validateNested(branch, place));
  schema.allOf?.forEach((branch, i) => {
    validateNested(branch, at.child(`allOf[${i}]`), typesIn === "allOf" && i === 0 ? "anyOf" : undefined);
  });
  at.each("oneOf", schema.oneOf, (branch, place) => validateNested(branch, place));
  if (schema.not) validateNested(schema.not, at.child("not"));
  if (schema.pattern) validatePattern(schema.pattern, at);
}

function validatePattern(pattern: string, at: FieldErrors): void {
  try {
    compilePattern(pattern);
  } catch (error) {
    if (!(error instanceof PatternSyntaxError)) throw error;
    at.invalid("pattern", pattern, `must be a valid regular expression, but isn't: ${error.message}`);
  }
}

/** Fields that must be outside of anyOf, allOf, oneOf and not. */
const forbiddenInside: readonly [field: keyof OpenApiSchema, detail: string][] = [
  ["type", "must be empty to be structural"],
  ["additionalProperties", "must be undefined to be structural"],
  ["default", "must be undefined to be structural"],
  ["title", "must be empty to be structural"],
  ["description", "must be empty to be structural"],
  ["nullable", "must be false to be structural"],
  ["x-kubernetes-preserve-unknown-fields", "must be false to be structural"],
  ["x-kubernetes-embedded-resource", "must be false to be structural"],
  ["x-kubernetes-int-or-string", "must be false to be structural"],
  ["x-kubernetes-list-map-keys", "must be empty to be structural"],
  ["x-kubernetes-list-type", "must be undefined to be structural"],
  ["x-kubernetes-map-type", "must be undefined to be structural"],
  ["x-kubernetes-validations", "must be empty to be structural"],
];

function validateNested(schema: OpenApiSchema, at: FieldErrors, typesIn?: "anyOf"): void {
  validateValidations(schema, at, typesIn);
  const items = itemsOf(schema);
  if (items) validateNested(items, at.child("items"));
  const properties = at.child("properties");
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    validateNested(property, properties.child(`[${key}]`));
  for (const [field, detail] of forbiddenInside) if (schema[field]) at.forbidden(field, detail);
  if (propertyOf(schema, "metadata"))
    at.forbidden("properties[metadata]", "must not be specified in a nested context");
}

/** The structural part of the schema that a nested part restricts. */
interface Specified {
  readonly schema: OpenApiSchema | undefined;
  readonly path: string;
}

function validateComplete(schema: OpenApiSchema, specified: Specified, at: FieldErrors): void {
  if (schema.not) validateNestedComplete(schema.not, specified, at.child("not"));
  for (const junctor of ["allOf", "anyOf", "oneOf"] as const)
    at.each(junctor, schema[junctor], (branch, place) => validateNestedComplete(branch, specified, place));
}

function validateNestedComplete(
  schema: OpenApiSchema,
  { schema: outer, path }: Specified,
  at: FieldErrors,
): void {
  if (!outer) {
    at.errors.push({
      type: "FieldValueRequired",
      field: path,
      message: `Required value: because it is defined in ${at.path}`,
    });
    return;
  }
  validateComplete(schema, { schema: outer, path }, at);
  const items = itemsOf(schema);
  if (items)
    validateNestedComplete(items, { schema: itemsOf(outer), path: `${path}.items` }, at.child("items"));
  for (const [key, property] of Object.entries(schema.properties ?? {})) {
    const specified = { schema: propertyOf(outer, key), path: `${path}.properties[${key}]` };
    validateNestedComplete(property, specified, at.child("properties").child(`[${key}]`));
  }
}

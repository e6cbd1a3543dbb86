import { type FieldError, FieldErrors } from "../meta/field-errors.ts";
import { isEqual } from "../meta/is-equal.ts";
import { DecodeError } from "../schema/decode-error.ts";
import { isJsonObject } from "../schema/json-object.ts";
import { decodeEmbedded, validateEmbedded } from "./embedded-resources.ts";
import { isEmbeddedResource, itemsOf, metaFields, type OpenApiSchema } from "./open-api-schema.ts";
import { pruneObject, pruneValue } from "./prune.ts";
import { validateValue } from "./validate-value.ts";

/** Checks that the defaults of a schema are valid and have no unknown fields. */
export function validateSchemaDefaults(schema: OpenApiSchema, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const children: [string, OpenApiSchema][] = Object.entries(schema.properties ?? {})
    // Defaults of metadata at the root are not allowed at all.
    .filter(([key]) => !metaFields.has(key))
    .map(([key, property]) => [`${path}.properties[${key}]`, property]);
  for (const [childPath, child] of children) validateLevel(child, childPath, errors);
  return errors;
}

function validateLevel(schema: OpenApiSchema, path: string, errors: FieldError[]): void {
  if (schema.default !== undefined && schema.default !== null) {
    errors.push(...validateDefault(schema, `${path}.default`));
  }
  const items = itemsOf(schema);
  if (items) validateLevel(items, `${path}.items`, errors);
  for (const [key, property] of Object.entries(schema.properties ?? {}))
    validateLevel(property, `${path}.properties[${key}]`, errors);
}

function validateDefault(schema: OpenApiSchema, path: string): FieldError[] {
  const at = new FieldErrors(path);
  const value: unknown = structuredClone(schema.default);
  if (isEmbeddedResource(schema) && isJsonObject(value)) pruneObject(value, schema);
  else pruneValue(value, schema);
  if (!isEqual(value, schema.default)) at.invalid("", schema.default, "must not have unknown fields");
  try {
    decodeEmbedded(value, schema, "default");
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    at.invalid("", schema.default, error.message);
    return at.errors;
  }
  const before = at.errors.length;
  validateEmbedded(schema.default, schema, at);
  if (at.errors.length > before) return at.errors;
  return [...at.errors, ...validateValue(schema.default, schema, { prefix: path })];
}

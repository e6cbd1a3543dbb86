import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import {
  additionalOf,
  fieldSchema,
  isEmbeddedResource,
  itemsOf,
  metaFields,
  type OpenApiSchema,
  preservesUnknownFields,
  propertyOf,
} from "./open-api-schema.ts";

/** Limit of upstream. */
const maxUnknownFields = 100;

/**
 * Removes fields that the schema does not specify from an object of the kind. Returns their paths, sorted:
 * `spec.unknown`, `spec.list[0].unknown`.
 */
export function pruneObject(object: JsonObject, schema: OpenApiSchema): string[] {
  const unknown: string[] = [];
  prune(object, { ...schema, "x-kubernetes-embedded-resource": true }, "", unknown);
  return unknown.sort().slice(0, maxUnknownFields);
}

/** Removes fields that the schema does not specify from a value inside of an object. */
export function pruneValue(value: unknown, schema: OpenApiSchema): string[] {
  const unknown: string[] = [];
  prune(value, schema, "", unknown);
  return unknown;
}

function prune(value: unknown, schema: OpenApiSchema | undefined, path: string, unknown: string[]): void {
  if (schema && preservesUnknownFields(schema)) {
    pruneSpecified(value, schema, path, unknown);
  } else if (Array.isArray(value)) {
    const items = schema && itemsOf(schema);
    for (const [i, item] of value.entries()) prune(item, items, `${path}[${i}]`, unknown);
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      if (schema && isEmbeddedResource(schema) && metaFields.has(key)) continue;
      const property = schema && propertyOf(schema, key);
      if (property || schema?.additionalProperties !== undefined) {
        prune(value[key], property ?? (schema && additionalOf(schema)), join(path, key), unknown);
      } else {
        if (path !== "" || !metaFields.has(key)) unknown.push(join(path, key));
        delete value[key];
      }
    }
  }
}

/** Below `x-kubernetes-preserve-unknown-fields`, fields that the schema specifies are pruned nevertheless. */
function pruneSpecified(value: unknown, schema: OpenApiSchema, path: string, unknown: string[]): void {
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    if (!items) return;
    for (const [i, item] of value.entries()) pruneSpecified(item, items, `${path}[${i}]`, unknown);
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      if (isEmbeddedResource(schema) && metaFields.has(key)) continue;
      const field = fieldSchema(schema, key);
      if (field || schema.additionalProperties !== undefined)
        prune(value[key], field, join(path, key), unknown);
    }
  }
}

function join(path: string, key: string): string {
  return path === "" ? key : `${path}.${key}`;
}

import { define, isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { additionalOf, fieldSchema, itemsOf, type OpenApiSchema, propertyOf } from "./open-api-schema.ts";

/** Sets the defaults of missing fields, and of nulls in fields that are not nullable. */
export function applyDefaults(value: unknown, schema: OpenApiSchema | undefined): void {
  if (!schema) return;
  if (Array.isArray(value)) {
    const items = itemsOf(schema);
    value.forEach((item, i) => {
      if (isReplacedNull(item, items)) value[i] = clone(items?.default);
      applyDefaults(value[i], items);
    });
  } else if (isJsonObject(value)) {
    for (const [key, property] of Object.entries(schema.properties ?? {})) {
      if (property.default === undefined || property.default === null) continue;
      if (!Object.hasOwn(value, key) || isReplacedNull(value[key], property))
        define(value, key, clone(property.default));
    }
    for (const key of Object.keys(value)) {
      const additional = propertyOf(schema, key) ? undefined : additionalOf(schema);
      if (additional && isReplacedNull(value[key], additional)) define(value, key, clone(additional.default));
      applyDefaults(value[key], fieldSchema(schema, key));
    }
  }
}

/** Removes nulls from fields that are neither nullable nor have a default. */
export function dropNulls(value: unknown, schema: OpenApiSchema | undefined): void {
  if (Array.isArray(value)) {
    const items = schema && itemsOf(schema);
    for (const item of value) dropNulls(item, items);
  } else if (isJsonObject(value)) {
    for (const key of Object.keys(value)) {
      const field = schema && fieldSchema(schema, key);
      const hasDefault = field?.default !== undefined && field.default !== null;
      if (field && value[key] === null && !field.nullable && !hasDefault) delete value[key];
      else dropNulls(value[key], field);
    }
  }
}

function isReplacedNull(value: unknown, schema: OpenApiSchema | undefined): boolean {
  return value === null && schema !== undefined && !schema.nullable;
}

function clone(value: unknown): unknown {
  return typeof value === "object" ? structuredClone(value as JsonObject) : (value ?? null);
}

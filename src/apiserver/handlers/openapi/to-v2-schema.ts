import type { JsonSchema } from "./json-schema.ts";

/** Fields of OpenAPI v3 that version 2 does not have. Validation of values stays on the server. */
const dropped = new Set(["allOf", "anyOf", "oneOf", "not", "nullable"]);

/**
 * Converts the schema of a custom resource to OpenAPI v2, as upstream: a field that version 2 cannot describe accepts
 * any value, so that clients do not reject or prune what the server accepts.
 */
export function toV2Schema(schema: JsonSchema): JsonSchema {
  const { properties, items, additionalProperties, ...rest } = schema;
  const kept = Object.fromEntries(
    Object.entries(rest).filter(([field]) => !dropped.has(field)),
  ) as JsonSchema;
  const isFree =
    schema["x-kubernetes-preserve-unknown-fields"] === true ||
    schema["x-kubernetes-int-or-string"] === true ||
    (schema as { nullable?: boolean }).nullable === true;
  if (isFree) {
    const { type: _, ...untyped } = kept;
    return untyped;
  }
  return {
    ...kept,
    ...(properties && {
      properties: Object.fromEntries(
        Object.entries(properties).map(([field, property]) => [field, toV2Schema(property)]),
      ),
    }),
    ...(items && { items: toV2Schema(items) }),
    ...(typeof additionalProperties === "object" && {
      additionalProperties: toV2Schema(additionalProperties),
    }),
  };
}

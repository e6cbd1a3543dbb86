import { isJsonObject } from "../schema/json-object.ts";
import { canonicalJson, pick } from "./list-types.ts";
import type { OpenApiSchema } from "./open-api-schema.ts";

/** Value that is being replaced by an update. Undefined where old and new value cannot be correlated. */
export type Old = { readonly value: unknown } | undefined;

/** Finds the old item of an item. Only items of lists of the type map can be correlated, by their keys. */
export function correlateItems(
  items: readonly unknown[],
  old: Old,
  schema: OpenApiSchema,
): (index: number) => Old {
  const keys = schema["x-kubernetes-list-map-keys"] ?? [];
  if (!old || !Array.isArray(old.value) || schema["x-kubernetes-list-type"] !== "map" || keys.length === 0)
    return () => undefined;
  const keyOf = (item: unknown) => canonicalJson(pick(isJsonObject(item) ? item : null, keys));
  const byKey = new Map(old.value.map((item: unknown) => [keyOf(item), { value: item }]));
  return (index) => byKey.get(keyOf(items[index]));
}

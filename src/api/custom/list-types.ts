import type { FieldErrors } from "../meta/field-errors.ts";
import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { fieldSchema, itemsOf, type OpenApiSchema, propertyOf } from "./open-api-schema.ts";

/** Checks that the items of sets, and the keys of lists of the type map, are unique. */
export function validateListTypes(value: unknown, schema: OpenApiSchema | undefined, at: FieldErrors): void {
  if (!schema) return;
  if (Array.isArray(value)) {
    const type = schema["x-kubernetes-list-type"];
    if (type === "set") {
      for (const i of firstDuplicates(value)) at.duplicate(`[${i}]`, value[i]);
    } else if (type === "map") validateMapKeys(value, schema["x-kubernetes-list-map-keys"] ?? [], at);
    const items = itemsOf(schema);
    for (const [i, item] of value.entries()) validateListTypes(item, items, at.child(`[${i}]`));
  } else if (isJsonObject(value)) {
    for (const [key, child] of Object.entries(value)) {
      const place = propertyOf(schema, key) ? key : `[${key}]`;
      validateListTypes(child, fieldSchema(schema, key), at.child(place));
    }
  }
}

function validateMapKeys(items: readonly unknown[], keys: readonly string[], at: FieldErrors): void {
  const other = items.findIndex((item) => item !== null && !isJsonObject(item));
  if (other >= 0) {
    at.invalid(`[${other}]`, items[other], "must be an object for an array of list-type map");
    return;
  }
  const keysOfItems = items.map((item) => pick(item as JsonObject | null, keys));
  for (const i of firstDuplicates(keysOfItems)) at.duplicate(`[${i}]`, keysOfItems[i]);
}

/** The map keys of an item, which identify it. */
export function pick(item: JsonObject | null, keys: readonly string[]): JsonObject {
  return Object.fromEntries(
    keys.filter((key) => item && Object.hasOwn(item, key)).map((key) => [key, item?.[key]]),
  );
}

/** Index of the second item of each value that occurs more than once. */
function firstDuplicates(items: readonly unknown[]): number[] {
  const counts = new Map<string, number>();
  const duplicates: number[] = [];
  items.forEach((item, i) => {
    const key = canonicalJson(item);
    const count = counts.get(key) ?? 0;
    counts.set(key, count + 1);
    if (count === 1) duplicates.push(i);
  });
  return duplicates;
}

/** JSON with sorted keys. */
export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, child: unknown) =>
    isJsonObject(child)
      ? Object.fromEntries(Object.entries(child).sort(([a], [b]) => (a < b ? -1 : 1)))
      : child,
  );
}

import { isJsonObject, type JsonObject } from "../schema/json-object.ts";

/** RFC 7386: objects are merged, null removes, all else replaces. Neither argument is changed. */
export function applyMergePatch(target: JsonObject, patch: JsonObject): JsonObject {
  const merged = new Map(Object.entries(target));
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      merged.delete(key);
      continue;
    }
    const current = merged.get(key);
    merged.set(
      key,
      isJsonObject(current) && isJsonObject(value) ? applyMergePatch(current, value) : withoutNulls(value),
    );
  }
  // fromEntries defines its keys, so that one named __proto__ is a key like any other.
  return Object.fromEntries(merged);
}

/** What has no counterpart to remove from loses its nulls; as upstream, also inside of lists. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, child]) => child !== null)
      .map(([key, child]) => [key, withoutNulls(child)]),
  );
}

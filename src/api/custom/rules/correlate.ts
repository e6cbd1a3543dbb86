import { isEqual } from "../../meta/is-equal.ts";
import { isJsonObject } from "../../schema/json-object.ts";
import { correlateItems, type Old } from "../correlate-items.ts";
import { fieldSchema, itemsOf, type OpenApiSchema } from "../open-api-schema.ts";

/** A value with the one that it replaces. */
interface Correlated {
  readonly value: unknown;
  readonly old: unknown;
  readonly schema: OpenApiSchema;
}

/**
 * Where a value of an update stands: with the value that it replaces, or below the closest one that has one. Errors of values
 * that an update does not change are ignored (ratcheting).
 */
export interface Place {
  readonly current: Correlated | undefined;
  readonly parent: Correlated | undefined;
}

export const unrelated: Place = { current: undefined, parent: undefined };

export function isUnchanged({ current, parent }: Place): boolean {
  const correlated = current ?? parent;
  return correlated !== undefined && isSame(correlated);
}

/** Place of a field. As upstream, type meta of the root is never unchanged. */
export function fieldPlace(place: Place, key: string): Place {
  const { current, parent } = place;
  if (!current) return place;
  if (!parent && (key === "apiVersion" || key === "kind")) return unrelated;
  return { current: fieldOf(current, key), parent: current };
}

export function itemPlace(place: Place, index: number): Place {
  const { current } = place;
  return current ? { current: itemOf(current, index), parent: current } : place;
}

function fieldOf({ value, old, schema }: Correlated, key: string): Correlated | undefined {
  if (!isJsonObject(value) || !isJsonObject(old)) return undefined;
  const child = fieldSchema(schema, key);
  if (!child || !Object.hasOwn(value, key) || !Object.hasOwn(old, key)) return undefined;
  return { value: value[key], old: old[key], schema: child };
}

/** Lookups of old items: the index of a list is made once. */
const lookups = new WeakMap<Correlated, (index: number) => Old>();

function itemOf(list: Correlated, index: number): Correlated | undefined {
  const { value, old, schema } = list;
  const items = itemsOf(schema);
  if (!items || !Array.isArray(value)) return undefined;
  const lookup = lookups.get(list) ?? correlateItems(value, { value: old }, schema);
  lookups.set(list, lookup);
  const found = lookup(index);
  return found && { value: value[index], old: found.value, schema: items };
}

/** Equality of a value and the one that it replaces. Items of lists of the type map are compared by their keys. */
function isSame(correlated: Correlated): boolean {
  const { value, old, schema } = correlated;
  if (Array.isArray(value) && Array.isArray(old)) {
    if (value.length !== old.length) return false;
    if (schema["x-kubernetes-list-type"] !== "map") return isEqual(value, old);
    return value.every((_, i) => {
      const item = itemOf(correlated, i);
      return item !== undefined && isSame(item);
    });
  }
  if (isJsonObject(value) && isJsonObject(old)) {
    const keys = Object.keys(value);
    if (keys.length !== Object.keys(old).length) return false;
    return keys.every((key) => {
      const field = fieldOf(correlated, key);
      return field !== undefined && isSame(field);
    });
  }
  return isEqual(value, old);
}

import { define, isJsonObject, type JsonObject } from "../../schema/json-object.ts";
import { ApplyError } from "./apply-error.ts";
import { asMember, childrenOf, emptyFieldSet, type FieldSet, formatPath, isMember } from "./field-set.ts";
import { elementOf, itemsOf, itemType } from "./list-items.ts";
import { deduceType, type MergeType } from "./merge-type.ts";

type Fields = Extract<MergeType, { kind: "struct" | "map" }>;
type AssociativeList = Extract<MergeType, { kind: "set" | "listMap" }>;

function typeOfField(type: Fields, name: string): MergeType {
  return type.kind === "map" ? type.values : (type.fields.get(name) ?? { kind: "deduced" });
}

/**
 * Merges the configuration into the object. Leaves of the configuration win. Items of lists are in the order of the
 * configuration; items that only the object has keep their place between their neighbours.
 */
export function mergeObjects(type: MergeType, object: unknown, configuration: unknown): unknown {
  if (configuration === undefined) return object;
  if (object === undefined && type.kind !== "set" && type.kind !== "listMap") return configuration;
  const known = type.kind === "deduced" ? deduceType(configuration ?? object) : type;
  switch (known.kind) {
    case "leaf":
      return configuration;
    case "struct":
    case "map":
      if (!isJsonObject(configuration)) return configuration;
      return mergeFields(known, isJsonObject(object) ? object : {}, configuration);
    default:
      if (!Array.isArray(configuration)) return configuration;
      if (configuration.length === 0 && itemsOf(object).length === 0) return configuration;
      return mergeItems(known, itemsOf(object), configuration);
  }
}

function mergeFields(type: Fields, object: JsonObject, configuration: JsonObject): JsonObject {
  const merged = { ...object };
  for (const [name, value] of Object.entries(configuration)) {
    const mergedValue = ApplyError.inside(`.${name}`, () =>
      mergeObjects(typeOfField(type, name), object[name], value),
    );
    define(merged, name, mergedValue);
  }
  return merged;
}

function mergeItems(
  type: AssociativeList,
  object: readonly unknown[],
  configuration: readonly unknown[],
): unknown[] {
  const left = object.map((item) => ({ element: elementOf(type, item), item }));
  const right = new Map<string, unknown>();
  for (const item of configuration) {
    const element = elementOf(type, item);
    if (right.has(element)) throw new ApplyError(`duplicate entries for key ${formatPath([element])}`);
    right.set(element, item);
  }
  const known = new Map<string, unknown>();
  // Items of the object that share a key are not merged with the configuration but replaced by it.
  for (const { element, item } of left) known.set(element, known.has(element) ? undefined : item);

  const merged: unknown[] = [];
  const mergeOne = (element: string) =>
    merged.push(mergeObjects(itemType(type), known.get(element), right.get(element)));
  const order = [...right.keys()];
  const shared = order.filter((element) => known.has(element));
  const done = new Set<string>();
  let [l, r, s] = [0, 0, 0];
  while (l < left.length || r < order.length) {
    const current = left[l];
    const next = order[r];
    if (current && next !== undefined) {
      if (current.element === next) {
        mergeOne(next);
        done.add(next);
        [l, r, s] = [l + 1, r + 1, s + 1];
        continue;
      }
      // An item that both have, but whose turn has not come yet.
      if (right.has(current.element) && shared[s] !== undefined && shared[s] !== current.element) {
        l++;
        continue;
      }
    }
    if (current) {
      if (!right.has(current.element)) {
        merged.push(current.item);
        l++;
        continue;
      }
      if (done.has(current.element)) l++;
    }
    if (next !== undefined) {
      mergeOne(next);
      done.add(next);
      if (shared[s] === next) s++;
      r++;
    }
  }
  return merged;
}

/** Returns the object without the paths of the set. Undefined if nothing is left. */
export function removeFields(type: MergeType, object: unknown, paths: FieldSet): unknown {
  const known = type.kind === "deduced" ? deduceType(object) : type;
  switch (known.kind) {
    case "leaf":
      return Array.isArray(object) || isJsonObject(object) ? undefined : object;
    case "struct":
    case "map":
      return isJsonObject(object) ? removeFromObject(known, object, paths) : undefined;
    default:
      return removeFromList(known, itemsOf(object), paths);
  }
}

function removeFromObject(type: Fields, object: JsonObject, paths: FieldSet): JsonObject | undefined {
  const rest: JsonObject = {};
  let isEmpty = true;
  for (const [name, value] of Object.entries(object)) {
    const node = paths[`f:${name}`];
    if (isMember(node)) continue;
    // Null keeps the owner of a map that has become empty. Decoding drops it.
    define(rest, name, node ? (removeFields(typeOfField(type, name), value, node) ?? null) : value);
    isEmpty = false;
  }
  return isEmpty ? undefined : rest;
}

function removeFromList(
  type: AssociativeList,
  list: readonly unknown[],
  paths: FieldSet,
): unknown[] | undefined {
  const rest: unknown[] = [];
  for (const item of list) {
    const node = paths[elementOf(type, item)];
    if (isMember(node)) continue;
    rest.push(node ? (removeFields(itemType(type), item, node) ?? null) : item);
  }
  return rest.length > 0 ? rest : undefined;
}

/** Adds each field of a struct that has paths below it. Items of maps and lists are not added. */
export function withNamedFields(type: MergeType, set: FieldSet): FieldSet {
  const entries = childrenOf(set).map(([element, child]): [string, FieldSet] => {
    const nested = withNamedFields(typeOfElement(type, element), child);
    const marked = isMember(child) ? asMember(nested) : nested;
    const isNamed = type.kind === "struct" && type.fields.has(element.slice(2));
    return [element, isNamed && childrenOf(child).length > 0 ? asMember(nested) : marked];
  });
  return entries.length > 0 ? Object.fromEntries(entries) : emptyFieldSet;
}

function typeOfElement(type: MergeType, element: string): MergeType {
  switch (type.kind) {
    case "struct":
    case "map":
      return element.startsWith("f:") ? typeOfField(type, element.slice(2)) : { kind: "leaf" };
    case "listMap":
      return type.items;
    case "deduced":
      return type;
    default:
      return { kind: "leaf" };
  }
}

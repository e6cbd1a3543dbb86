import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { type FieldType, type MergeRule, parseType, type Schema } from "../schema/schema.ts";
import {
  badListOrder,
  badRetainKeys,
  directives,
  hasPatchDirective,
  listOfDirective,
  unknownPatchDirective,
  withoutDirectives,
} from "./directives.ts";
import { assertOrder, deleteFromList, type List, mergeList, reorderList } from "./merge-list.ts";
import { malformed } from "./patch-error.ts";

/**
 * Applies a strategic merge patch: like a merge patch, but lists with a merge key are merged by item, and directives
 * control how. Does not change its arguments; the result may share parts with both.
 */
export function applyStrategicMergePatch(
  schema: Schema,
  definition: string,
  target: JsonObject,
  patch: JsonObject,
): JsonObject {
  return mergeObject(schema, target, patch, { kind: "struct", definition });
}

interface Merging {
  readonly schema: Schema;
  readonly type: FieldType;
  /** The merged part of the object. */
  readonly merged: Map<string, unknown>;
  /** Remaining entries of the patch. */
  readonly rest: Map<string, unknown>;
}

function mergeObject(schema: Schema, target: JsonObject, patch: JsonObject, type: FieldType): JsonObject {
  if (hasPatchDirective(patch)) return applyPatchDirective(patch);
  const merging = {
    schema,
    type,
    merged: new Map(Object.entries(target)),
    rest: new Map(Object.entries(patch)),
  };
  retainKeys(merging);
  // Entries may be deleted while a Map is iterated.
  for (const key of merging.rest.keys()) {
    const list = listOfDirective(key, directives.listOrder);
    if (list !== undefined) mergeOrderedList(merging, list, key);
  }
  for (const [key, value] of merging.rest) mergeEntry(merging, key, value);
  // fromEntries defines keys instead of assigning them, so that __proto__ is an ordinary key.
  return Object.fromEntries(merging.merged);
}

function applyPatchDirective(patch: JsonObject): JsonObject {
  const { [directives.patch]: directive, ...rest } = patch;
  if (directive === "replace") return rest;
  if (directive === "delete") return {};
  throw unknownPatchDirective(patch);
}

function retainKeys({ merged, rest }: Merging): void {
  if (!rest.has(directives.retainKeys)) return;
  const retained = rest.get(directives.retainKeys);
  rest.delete(directives.retainKeys);
  if (!Array.isArray(retained)) throw malformed(badRetainKeys);
  const keys = new Set<unknown>(retained);
  for (const [key, value] of rest) {
    const isDirective = key.startsWith(directives.deleteFromList) || key.startsWith(directives.listOrder);
    if (value !== null && !isDirective && !keys.has(key)) throw malformed(badRetainKeys);
  }
  for (const key of merged.keys()) if (!keys.has(key)) merged.delete(key);
}

/** Merges the list of `$setElementOrder/<name>` and sorts it in that order. */
function mergeOrderedList({ schema, type, merged, rest }: Merging, name: string, directive: string): void {
  const order = listOf(rest.get(directive));
  rest.delete(directive);
  const current = merged.has(name) ? listOf(merged.get(name)) : undefined;
  const patch = rest.has(name) ? listOf(rest.get(name)) : undefined;
  rest.delete(name);
  const field = listField(schema, type, name);
  const mergeKey = field.rule.patchMergeKey;
  if (patch) assertOrder(patch, { order, mergeKey });
  if (current) {
    const list = patch ? mergeListField(schema, current, patch, field) : current;
    merged.set(name, reorderList(list, { current, order, mergeKey }));
  } else if (patch) {
    merged.set(name, reorderList(listOf(withoutDirectives(patch)), { current: [], order, mergeKey }));
  }
}

function mergeEntry({ schema, type, merged }: Merging, key: string, value: unknown): void {
  const deletedFrom = listOfDirective(key, directives.deleteFromList);
  const name = deletedFrom ?? key;
  const current = merged.get(name);
  if (value === null) {
    merged.delete(name);
  } else if (deletedFrom !== undefined) {
    if (Array.isArray(current) && Array.isArray(value)) merged.set(name, deleteFromList(current, value));
  } else if (Array.isArray(current) && Array.isArray(value)) {
    merged.set(name, mergeListField(schema, current, value, listField(schema, type, name)));
  } else if (isJsonObject(current) && isJsonObject(value)) {
    const field = fieldNamed(schema, type, name);
    const replaces = field.rule.patchStrategy?.includes("replace");
    merged.set(name, replaces ? value : mergeObject(schema, current, value, field.type));
  } else {
    const added = withoutDirectives(value);
    if (added === undefined) merged.delete(name);
    else merged.set(name, added);
  }
}

interface Field {
  /** Type of the field, or of its items if it is a list. */
  readonly type: FieldType;
  readonly rule: MergeRule;
}

function mergeListField(schema: Schema, current: List, patch: List, { type, rule }: Field): List {
  if (!rule.patchStrategy?.includes("merge")) return patch;
  return mergeList(current, patch, {
    mergeKey: rule.patchMergeKey,
    mergeItems: (currentItem, patchItem) => mergeObject(schema, currentItem, patchItem, type),
  });
}

function listField(schema: Schema, type: FieldType, name: string): Field {
  const field = fieldNamed(schema, type, name);
  if (field.type.kind !== "list")
    throw malformed(`expected slice or array type, but got: ${field.type.kind}`);
  return { ...field, type: field.type.items };
}

function fieldNamed(schema: Schema, type: FieldType, name: string): Field {
  if (type.kind !== "struct") {
    throw malformed(`merging an object in json but data type is not struct, instead is: ${type.kind}`);
  }
  const { fields } = schema.definition(type.definition);
  const text = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (text === undefined) {
    const struct = type.definition.slice(type.definition.lastIndexOf(".") + 1);
    throw malformed(
      `unable to find api field in struct ${struct} for the json field ${JSON.stringify(name)}`,
    );
  }
  return { type: parseType(text), rule: schema.mergeRule(type.definition, name) };
}

function listOf(value: unknown): List {
  if (!Array.isArray(value)) throw malformed(badListOrder);
  return value;
}

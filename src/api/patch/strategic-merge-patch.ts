import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { type MergeRule, mergeRuleOf } from "../schema/merge-keys.ts";
import { definitionOf, type FieldType, parseType } from "../schema/schema.ts";
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
 * Kubernetes' own patch: as a merge patch, but lists that have a merge key are merged item by item, and directives say
 * what that cannot say. Neither argument is changed; the result may share parts with both.
 */
export function applyStrategicMergePatch(
  definition: string,
  target: JsonObject,
  patch: JsonObject,
): JsonObject {
  return mergeObject(target, patch, { kind: "struct", definition });
}

interface Merging {
  readonly type: FieldType;
  /** The object, as far as it is done. */
  readonly merged: Map<string, unknown>;
  /** What of the patch is still to be done. */
  readonly rest: Map<string, unknown>;
}

function mergeObject(target: JsonObject, patch: JsonObject, type: FieldType): JsonObject {
  if (hasPatchDirective(patch)) return applyPatchDirective(patch);
  const merging = { type, merged: new Map(Object.entries(target)), rest: new Map(Object.entries(patch)) };
  retainKeys(merging);
  // Map iteration goes on well while entries are taken out.
  for (const key of merging.rest.keys()) {
    const list = listOfDirective(key, directives.listOrder);
    if (list !== undefined) mergeOrderedList(merging, list, key);
  }
  for (const [key, value] of merging.rest) mergeEntry(merging, key, value);
  // fromEntries defines its keys, so that a label named __proto__ is a label.
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

/** Merges the list that `$setElementOrder/<name>` is about, and puts it in that order. */
function mergeOrderedList({ type, merged, rest }: Merging, name: string, directive: string): void {
  const order = listOf(rest.get(directive));
  rest.delete(directive);
  const current = merged.has(name) ? listOf(merged.get(name)) : undefined;
  const patch = rest.has(name) ? listOf(rest.get(name)) : undefined;
  rest.delete(name);
  const field = listField(type, name);
  const mergeKey = field.rule.patchMergeKey;
  if (patch) assertOrder(patch, { order, mergeKey });
  if (current) {
    const list = patch ? mergeListField(current, patch, field) : current;
    merged.set(name, reorderList(list, { current, order, mergeKey }));
  } else if (patch) {
    merged.set(name, reorderList(listOf(withoutDirectives(patch)), { current: [], order, mergeKey }));
  }
}

function mergeEntry({ type, merged }: Merging, key: string, value: unknown): void {
  const deletedFrom = listOfDirective(key, directives.deleteFromList);
  const name = deletedFrom ?? key;
  const current = merged.get(name);
  if (value === null) {
    merged.delete(name);
  } else if (deletedFrom !== undefined) {
    if (Array.isArray(current) && Array.isArray(value)) merged.set(name, deleteFromList(current, value));
  } else if (Array.isArray(current) && Array.isArray(value)) {
    merged.set(name, mergeListField(current, value, listField(type, name)));
  } else if (isJsonObject(current) && isJsonObject(value)) {
    const field = fieldNamed(type, name);
    const replaces = field.rule.patchStrategy?.includes("replace");
    merged.set(name, replaces ? value : mergeObject(current, value, field.type));
  } else {
    const added = withoutDirectives(value);
    if (added === undefined) merged.delete(name);
    else merged.set(name, added);
  }
}

interface Field {
  /** Of the items, where the field is a list. */
  readonly type: FieldType;
  readonly rule: MergeRule;
}

function mergeListField(current: List, patch: List, { type, rule }: Field): List {
  if (!rule.patchStrategy?.includes("merge")) return patch;
  return mergeList(current, patch, {
    mergeKey: rule.patchMergeKey,
    mergeItems: (currentItem, patchItem) => mergeObject(currentItem, patchItem, type),
  });
}

function listField(type: FieldType, name: string): Field {
  const field = fieldNamed(type, name);
  if (field.type.kind !== "list")
    throw malformed(`expected slice or array type, but got: ${field.type.kind}`);
  return { ...field, type: field.type.items };
}

function fieldNamed(type: FieldType, name: string): Field {
  if (type.kind !== "struct") {
    throw malformed(`merging an object in json but data type is not struct, instead is: ${type.kind}`);
  }
  const { fields } = definitionOf(type.definition);
  const text = Object.hasOwn(fields, name) ? fields[name] : undefined;
  if (text === undefined) {
    const struct = type.definition.slice(type.definition.lastIndexOf(".") + 1);
    throw malformed(
      `unable to find api field in struct ${struct} for the json field ${JSON.stringify(name)}`,
    );
  }
  return { type: parseType(text), rule: mergeRuleOf(type.definition, name) };
}

function listOf(value: unknown): List {
  if (!Array.isArray(value)) throw malformed(badListOrder);
  return value;
}

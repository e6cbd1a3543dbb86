import { isJsonObject, type JsonObject } from "../schema/json-object.ts";
import { badListOrder, directives, hasPatchDirective, unknownPatchDirective } from "./directives.ts";
import { doesNotApply, formatGo, malformed } from "./patch-error.ts";

export type List = readonly unknown[];

export interface ListMerge {
  /** Undefined for lists of strings and numbers. */
  readonly mergeKey: string | undefined;
  mergeItems(current: JsonObject, patch: JsonObject): JsonObject;
}

/** Merges a list whose patch strategy is `merge`. */
export function mergeList(current: List, patch: List, merge: ListMerge): List {
  if (!holdsObjects(current, patch)) {
    const items = [...new Set([...current, ...patch])];
    return orderList(items, { patchOrder: patch, currentOrder: current, keyOf: (item) => item });
  }
  const { mergeKey } = merge;
  if (mergeKey === undefined) throw malformed("cannot merge lists without merge key for struct");
  return mergeObjects(current.filter(isJsonObject), patch.filter(isJsonObject), { ...merge, mergeKey });
}

export function deleteFromList(current: List, deleted: List): List {
  holdsObjects(current, deleted);
  const gone = new Set(deleted);
  return current.filter((item) => !gone.has(item));
}

/** Applies `$setElementOrder` to a merged list. */
export function reorderList(
  merged: List,
  { current, order, mergeKey }: { current: List; order: List; mergeKey: string | undefined },
): List {
  const keyOf = holdsObjects(merged) ? keyReader(mergeKey ?? "") : (item: unknown) => item;
  return orderList(merged, { patchOrder: order, currentOrder: current, keyOf });
}

/** Throws unless the items of the patch are in the order of `$setElementOrder`. */
export function assertOrder(
  patch: List,
  { order, mergeKey }: { order: List; mergeKey: string | undefined },
): void {
  if (patch.length === 0 || order.length === 0) return;
  const keyOf = mergeKey === undefined ? (item: unknown) => item : keyReader(mergeKey);
  const isSpecial = (item: unknown) => isJsonObject(item) && hasPatchDirective(item);
  const wanted = patch.filter((item) => !isSpecial(item)).map(keyOf);
  let found = 0;
  for (const item of order) if (found < wanted.length && keyOf(item) === wanted[found]) found++;
  if (found < wanted.length) throw malformed(badListOrder);
}

/** Applies `$patch` items, then merges items with equal merge keys and appends the others. */
function mergeObjects(
  current: readonly JsonObject[],
  patch: readonly JsonObject[],
  { mergeKey, mergeItems }: ListMerge & { mergeKey: string },
): JsonObject[] {
  const keyOf = keyReader(mergeKey);
  const special = patch.filter(hasPatchDirective);
  const plain = patch.filter((item) => !hasPatchDirective(item));
  const deleted = new Set(special.filter(isDeletion).map(keyOf));
  if (special.some((item) => item[directives.patch] === "replace")) return plain;

  const kept = current.filter((item) => !deleted.has(keyOf(item)));
  const merged = [...kept];
  const indexes = new Map<unknown, number>();
  for (const [i, item] of kept.entries()) if (!indexes.has(keyOf(item))) indexes.set(keyOf(item), i);
  for (const item of plain) {
    const index = indexes.get(keyOf(item)) ?? merged.length;
    const same = merged[index];
    merged[index] = same ? mergeItems(same, item) : item;
    indexes.set(keyOf(item), index);
  }
  return orderList(merged, { patchOrder: plain, currentOrder: kept, keyOf });
}

function isDeletion(item: JsonObject): boolean {
  const directive = item[directives.patch];
  if (directive === "merge") throw malformed("merging lists cannot yet be specified in the patch");
  if (directive !== "delete" && directive !== "replace") throw unknownPatchDirective(item);
  return directive === "delete";
}

function keyReader(mergeKey: string): (item: unknown) => unknown {
  return (item) => {
    if (!isJsonObject(item))
      throw malformed(`expected a map[string]interface {}, but received ${formatGo(item)}`);
    if (!Object.hasOwn(item, mergeKey)) {
      throw malformed(`map: ${formatGo(item)} does not contain declared merge key: ${mergeKey}`);
    }
    return item[mergeKey];
  };
}

/** Whether the lists contain objects. Throws for mixed items and nested lists. */
function holdsObjects(...lists: readonly List[]): boolean {
  let kind: string | undefined;
  for (const list of lists) {
    for (const item of list) {
      if (Array.isArray(item)) throw doesNotApply("lists of lists are not supported");
      kind ??= typeof item;
      if (item === null || typeof item !== kind) {
        throw malformed(`list element types are not identical: ${formatGo(lists)}`);
      }
    }
  }
  return kind === "object";
}

interface ListOrder<T> {
  /** Order of the items in the patch. */
  readonly patchOrder: readonly T[];
  readonly currentOrder: readonly T[];
  /** Identifies an item. */
  readonly keyOf: (item: T) => unknown;
}

/**
 * Orders a merged list: items of the patch in the order of the patch, all others in the current order, interleaved as close
 * to the current order as possible.
 */
function orderList<T>(items: readonly T[], { patchOrder, currentOrder, keyOf }: ListOrder<T>): T[] {
  const inPatch = indexByKey(patchOrder, keyOf);
  const inCurrent = indexByKey(currentOrder, keyOf);
  const indexIn = (indexes: ReadonlyMap<unknown, number>) => (item: T) =>
    indexes.get(keyOf(item)) ?? Infinity;
  const patched = sortBy(
    items.filter((item) => inPatch.has(keyOf(item))),
    indexIn(inPatch),
  );
  const others = sortBy(
    items.filter((item) => !inPatch.has(keyOf(item))),
    indexIn(inCurrent),
  );

  const currentIndex = indexIn(inCurrent);
  const ordered: T[] = [];
  let next = 0;
  for (const item of patched) {
    // A new item has no current position: it precedes all remaining items.
    const index = inCurrent.get(keyOf(item)) ?? -Infinity;
    for (; next < others.length; next++) {
      const other = others[next] as T;
      if (!(currentIndex(other) < index)) break;
      ordered.push(other);
    }
    ordered.push(item);
  }
  return [...ordered, ...others.slice(next)];
}

function indexByKey<T>(items: readonly T[], keyOf: (item: T) => unknown): Map<unknown, number> {
  const indexes = new Map<unknown, number>();
  for (const [i, item] of items.entries()) {
    const key = keyOf(item);
    if (!indexes.has(key)) indexes.set(key, i);
  }
  return indexes;
}

function sortBy<T>(items: T[], rank: (item: T) => number): T[] {
  return items.sort((a, b) => {
    const [left, right] = [rank(a), rank(b)];
    return left === right ? 0 : left - right;
  });
}

export interface ListOrder<T> {
  /** The order that the patch wants for the items that it names. */
  readonly patchOrder: readonly T[];
  readonly currentOrder: readonly T[];
  /** What makes an item the same item. */
  readonly keyOf: (item: T) => unknown;
}

/**
 * Puts a merged list in order: items that the patch names as it names them, all others as they were, and the two
 * interleaved as near to the current order as that allows.
 */
export function orderList<T>(items: readonly T[], { patchOrder, currentOrder, keyOf }: ListOrder<T>): T[] {
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
    // An item that is new has no place among the current ones: it goes before all that are left.
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

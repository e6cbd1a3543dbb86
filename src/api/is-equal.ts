/**
 * Semantic equality, as upstream's: a missing list equals an empty one and the order of keys does not matter.
 * Quantities are compared as written: the API keeps them in their canonical form.
 */
export function isEqual(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (isEmpty(a)) return isEmpty(b);
  if (typeof a !== "object" || typeof b !== "object" || a === null || b === null) return false;
  if (Array.isArray(a)) {
    return Array.isArray(b) && a.length === b.length && a.every((item, i) => isEqual(item, b[i]));
  }
  if (Array.isArray(b)) return false;
  return isEqualRecord(a as Record<string, unknown>, b as Record<string, unknown>);
}

function isEqualRecord(a: Record<string, unknown>, b: Record<string, unknown>): boolean {
  for (const key in a) {
    if (!isEqual(a[key], Object.hasOwn(b, key) ? b[key] : undefined)) return false;
  }
  for (const key in b) {
    if (!Object.hasOwn(a, key) && !isEmpty(b[key])) return false;
  }
  return true;
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === null) return true;
  return Array.isArray(value) && value.length === 0;
}

/**
 * Semantic equality, like upstream: a missing list equals an empty one and the order of keys does not matter.
 * Quantities are compared as strings, because the API stores them in canonical form.
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

/** Formats a unified diff of two values as JSON, in one hunk, for error messages about immutable fields. */
export function diffValues(before: unknown, after: unknown): string {
  const a = JSON.stringify(before, null, 1).split("\n");
  const b = JSON.stringify(after, null, 1).split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end++;

  const from = Math.max(0, start - contextLines);
  const tail = a.slice(a.length - end, Math.min(a.length, a.length - end + contextLines));
  const lines = [
    ...a.slice(from, start).map((line) => ` ${line}`),
    ...a.slice(start, a.length - end).map((line) => `-${line}`),
    ...b.slice(start, b.length - end).map((line) => `+${line}`),
    ...tail.map((line) => ` ${line}`),
  ];
  const shared = start - from + tail.length;
  const range = (length: number) => `${from + 1},${length - start - end + shared}`;
  return [`@@ -${range(a.length)} +${range(b.length)} @@`, ...lines, ""].join("\n");
}

const contextLines = 3;

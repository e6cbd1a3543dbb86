/** A unified diff of two values as JSON, in one hunk: shown to people, so that they see what they may not change. */
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

import type { LabelSelector } from "../../api/objects.ts";

/** `app=web,tier=front`, or `<none>`. */
export function formatLabels(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.keys(labels)
    .sort()
    .map((key) => `${key}=${labels[key]}`);
  return pairs.join(",") || "<none>";
}

const spellings: Readonly<Record<string, (key: string, values: string) => string>> = {
  In: (key, values) => `${key} in (${values})`,
  NotIn: (key, values) => `${key} notin (${values})`,
  Exists: (key) => key,
  DoesNotExist: (key) => `!${key}`,
};

/** `app=web,tier in (a,b),!old`: requirements by key, their values sorted. Empty for a selector without any. */
export function formatSelector(selector: LabelSelector | undefined): string {
  const requirements = Object.entries(selector?.matchLabels ?? {}).map(([key, value]) => ({
    key,
    text: `${key}=${value}`,
  }));
  for (const { key, operator, values = [] } of selector?.matchExpressions ?? []) {
    const text = spellings[operator]?.(key, [...values].sort().join(","));
    if (text !== undefined) requirements.push({ key, text });
  }
  return requirements
    .sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0))
    .map(({ text }) => text)
    .join(",");
}

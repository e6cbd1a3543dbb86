/** Counts items by their labels, for a gauge. Items without labels are not counted. */
export function* countByLabels<T>(
  items: Iterable<T>,
  labelsOf: (item: T) => Readonly<Record<string, string>> | undefined,
): Iterable<[Readonly<Record<string, string>>, number]> {
  const counts = new Map<string, [Readonly<Record<string, string>>, number]>();
  for (const item of items) {
    const labels = labelsOf(item);
    if (!labels) continue;
    const key = JSON.stringify(labels);
    counts.set(key, [labels, (counts.get(key)?.[1] ?? 0) + 1]);
  }
  yield* counts.values();
}

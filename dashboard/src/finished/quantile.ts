/** Quantile of sorted values, linearly interpolated. Undefined for an empty list. */
export function quantile(sorted: readonly number[], part: number): number | undefined {
  const at = (sorted.length - 1) * part;
  const below = sorted[Math.floor(at)];
  const above = sorted[Math.ceil(at)];
  if (below === undefined || above === undefined) return undefined;
  return below + (above - below) * (at - Math.floor(at));
}

export interface Summary {
  readonly count: number;
  readonly p50: number | undefined;
  readonly p90: number | undefined;
  readonly p99: number | undefined;
}

export function summarize(values: readonly number[]): Summary {
  const sorted = values.toSorted((a, b) => a - b);
  const at = (part: number) => quantile(sorted, part);
  return { count: sorted.length, p50: at(0.5), p90: at(0.9), p99: at(0.99) };
}

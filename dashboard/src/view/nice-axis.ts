const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Lengths that people know by heart. */
const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500],
  ...[1, 2, 5, 10, 20, 30].map((each) => each * second),
  ...[1, 2, 5, 10, 20, 30].map((each) => each * minute),
  ...[1, 2, 4, 8, 12].map((each) => each * hour),
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500, 1_000].map((each) => each * day),
] as const;

export function niceCeiling(ms: number): number {
  return steps.find((step) => step >= ms) ?? ms;
}

/** From 0 to the end, `most` of them and the two ends at most. */
export function linearTicks(endMs: number, most: number): readonly number[] {
  const step = niceCeiling(endMs / most);
  return Array.from({ length: Math.floor(endMs / step) + 1 }, (_, i) => i * step);
}

const logSteps = [
  ...[1, 3, 10, 30, 100, 300],
  ...[1, 3, 10, 30].map((each) => each * second),
  ...[1, 3, 10, 30].map((each) => each * minute),
  ...[1, 3, 12].map((each) => each * hour),
  ...[1, 3, 10, 30, 100, 1_000].map((each) => each * day),
] as const;

export interface LogAxis {
  readonly fromMs: number;
  readonly toMs: number;
  readonly ticks: readonly number[];
}

/** An axis on which each value has its place, of two steps at least. */
export function logAxis(values: readonly number[]): LogAxis {
  let least = Number.POSITIVE_INFINITY;
  let most = 0;
  for (const value of values) {
    least = Math.min(least, value);
    most = Math.max(most, value);
  }
  const lowest = logSteps.findLastIndex((step) => step <= Math.min(least, most));
  const from = Math.min(Math.max(0, lowest), logSteps.length - 2);
  const to = logSteps.findIndex((step) => step >= most);
  const ticks = logSteps.slice(from, Math.max(to < 0 ? logSteps.length : to + 1, from + 2));
  return { fromMs: ticks[0] ?? 1, toMs: ticks.at(-1) ?? 1, ticks };
}

/** From 0 at the start of the axis to 1 at its end. */
export function placeOnLog({ fromMs, toMs }: LogAxis, ms: number): number {
  const place = Math.log(Math.max(ms, fromMs) / fromMs) / Math.log(toMs / fromMs);
  return Math.min(1, place);
}

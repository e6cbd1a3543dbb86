const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

/** Round durations for axes. */
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

/** Ticks from 0 to the end, at most `maxTicks` of them between the ends. */
export function linearTicks(endMs: number, maxTicks: number): readonly number[] {
  const step = niceCeiling(endMs / maxTicks);
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

/** Logarithmic axis that contains all values and has at least two steps. */
export function logAxis(values: readonly number[]): LogAxis {
  let least = Number.POSITIVE_INFINITY;
  let largest = 0;
  for (const value of values) {
    least = Math.min(least, value);
    largest = Math.max(largest, value);
  }
  const lowest = logSteps.findLastIndex((step) => step <= Math.min(least, largest));
  const from = Math.min(Math.max(0, lowest), logSteps.length - 2);
  const to = logSteps.findIndex((step) => step >= largest);
  const ticks = logSteps.slice(from, Math.max(to < 0 ? logSteps.length : to + 1, from + 2));
  return { fromMs: ticks[0] ?? 1, toMs: ticks.at(-1) ?? 1, ticks };
}

/** Position on the axis, from 0 to 1. */
export function placeOnLog({ fromMs, toMs }: LogAxis, ms: number): number {
  const place = Math.log(Math.max(ms, fromMs) / fromMs) / Math.log(toMs / fromMs);
  return Math.min(1, place);
}

export interface TimeTick {
  readonly atMs: number;
  readonly label: string;
}

/** Ticks at round local times; labels have seconds or the date only if needed. */
export function timeTicks(fromMs: number, toMs: number, maxTicks: number): readonly TimeTick[] {
  const step = niceCeiling((toMs - fromMs) / maxTicks);
  // Round in the local time of day.
  const zoneMs = new Date(toMs).getTimezoneOffset() * 60_000;
  const first = Math.ceil((fromMs - zoneMs) / step) * step + zoneMs;
  const count = Math.max(0, Math.floor((toMs - first) / step) + 1);
  return Array.from({ length: count }, (_, i) => ({
    atMs: first + i * step,
    label: label(first + i * step, step),
  }));
}

function label(ms: number, step: number): string {
  const date = new Date(ms);
  const two = (value: number) => String(value).padStart(2, "0");
  if (step >= day) return `${two(date.getDate())}.${two(date.getMonth() + 1)}.`;
  const minutes = `${two(date.getHours())}:${two(date.getMinutes())}`;
  return step < 60_000 ? `${minutes}:${two(date.getSeconds())}` : minutes;
}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** Durations below `until` are shown in `unit`, with the `rest` in a smaller unit if set. */
const steps = [
  { until: 2 * minute, unit: second, suffix: "s" },
  { until: 10 * minute, unit: minute, suffix: "m", rest: second, restSuffix: "s" },
  { until: 3 * hour, unit: minute, suffix: "m" },
  { until: 8 * hour, unit: hour, suffix: "h", rest: minute, restSuffix: "m" },
  { until: 2 * day, unit: hour, suffix: "h" },
  { until: 8 * day, unit: day, suffix: "d", rest: hour, restSuffix: "h" },
  { until: 2 * year, unit: day, suffix: "d" },
  { until: 8 * year, unit: year, suffix: "y", rest: day, restSuffix: "d" },
  { until: Number.POSITIVE_INFINITY, unit: year, suffix: "y" },
];

/** Formats a duration like kubectl shows ages, with two or three digits: `45s`, `5m`, `5m30s`, `3d4h`. */
export function humanDuration(ms: number): string {
  // Clock skew: up to two seconds in the future count as now.
  if (!(ms > -2 * second)) return "<invalid>";
  const duration = Math.max(ms, 0);
  for (const { until, unit, suffix, rest, restSuffix } of steps) {
    if (duration >= until) continue;
    const whole = `${Math.floor(duration / unit)}${suffix}`;
    const left = rest === undefined ? 0 : Math.floor((duration % unit) / rest);
    return left > 0 ? `${whole}${left}${restSuffix}` : whole;
  }
  return "<invalid>";
}

/** Age of an API timestamp; `<unknown>` without one. */
export function ageOf(timestamp: string | null | undefined, now: number): string {
  return timestamp ? humanDuration(now - Date.parse(timestamp)) : "<unknown>";
}

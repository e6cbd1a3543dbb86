const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

/** Below `until`, a duration is shown in `unit` and, where named, in the `rest` of a smaller unit. */
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

/** `45s`, `5m`, `5m30s`, `3d4h`: two or three figures, as kubectl shows ages. */
export function humanDuration(ms: number): string {
  // Clocks differ: a moment less than two seconds ahead counts as now.
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

/** How long ago a timestamp of the API was; `<unknown>` where there is none. */
export function ageOf(timestamp: string | null | undefined, now: number): string {
  return timestamp ? humanDuration(now - Date.parse(timestamp)) : "<unknown>";
}

export const goUnitsMs: Readonly<Record<string, number>> = {
  ns: 1e-6,
  us: 1e-3,
  µs: 1e-3,
  μs: 1e-3,
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
};

/** Maximum of Go's 64-bit nanoseconds. */
const maxMs = 2 ** 63 / 1e6;
const maxLength = 100;

/**
 * Parses a Go duration such as `1m30s`, `1.5h`, `-2s` or `0` into milliseconds, optionally with other units. Returns
 * undefined for an invalid duration.
 */
export function parseGoDuration(text: string, unitsMs = goUnitsMs): number | undefined {
  const [, sign, body = ""] = /^([-+]?)(.*)$/.exec(text) ?? [];
  if (body === "0") return 0;
  if (body.length > maxLength || !/^(?:(?:\d+\.?\d*|\.\d+)[a-zµμ]+)+$/.test(body)) return undefined;
  let sum = 0;
  for (const [, amount = "", unit = ""] of body.matchAll(/([\d.]+)([a-zµμ]+)/g)) {
    const unitMs = Object.hasOwn(unitsMs, unit) ? unitsMs[unit] : undefined;
    if (unitMs === undefined) return undefined;
    sum += Number(amount) * unitMs;
  }
  if (sum >= maxMs) return undefined;
  return sign === "-" ? -sum : sum;
}

/** Formats whole milliseconds like Go: `850ms`, `1.2s`, `1m30s`, `1h0m0.5s`. */
export function formatGoDuration(ms: number): string {
  const whole = Math.trunc(ms);
  if (whole < 0) return `-${formatGoDuration(-whole)}`;
  if (whole === 0) return "0s";
  if (whole < 1_000) return `${whole}ms`;
  const hours = Math.floor(whole / 3_600_000);
  const minutes = Math.floor(whole / 60_000) % 60;
  const seconds = `${(whole % 60_000) / 1_000}s`;
  if (hours > 0) return `${hours}h${minutes}m${seconds}`;
  return minutes > 0 ? `${minutes}m${seconds}` : seconds;
}

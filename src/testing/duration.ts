import { parseGoDuration } from "../lib/go-duration.ts";

/** Milliseconds, or text in Go's format: `500ms`, `30s`, `1h30m`. */
export type Duration = number | string;

/** Converts a duration to milliseconds. Throws a TypeError that names the option if it is invalid. */
export function toMs(duration: Duration, name: string): number {
  const ms = typeof duration === "number" ? duration : parseGoDuration(duration);
  if (ms !== undefined && ms >= 0) return ms;
  const given = typeof duration === "string" ? JSON.stringify(duration) : duration;
  throw new TypeError(
    `${name}: ${given} is not a duration; use milliseconds, or text like "500ms", "30s", "1h30m"`,
  );
}

import { parseGoDuration } from "../lib/go-duration.ts";

/** Milliseconds, or text as Kubernetes writes it: `500ms`, `30s`, `1h30m`. */
export type Duration = number | string;

/** Throws for what is none; `name` says whose it is. */
export function toMs(duration: Duration, name: string): number {
  const ms = typeof duration === "number" ? duration : parseGoDuration(duration);
  if (ms !== undefined && ms >= 0) return ms;
  const given = typeof duration === "string" ? JSON.stringify(duration) : duration;
  throw new TypeError(
    `${name}: ${given} is no duration; write milliseconds, or text like "500ms", "30s", "1h30m"`,
  );
}

import { goUnitsMs, parseGoDuration } from "../../lib/go-duration.ts";

const unitsMs: Readonly<Record<string, number>> = { ...goUnitsMs, d: 86_400_000, w: 604_800_000 };

/** `500ms`, `1m30s`, `28d` in milliseconds; undefined for what is none. */
export function parseDuration(text: string): number | undefined {
  const ms = parseGoDuration(text, unitsMs);
  return ms !== undefined && ms >= 0 ? ms : undefined;
}

/** In the largest units that say it exactly: `1m30s`. */
export function formatDuration(ms: number): string {
  let left = ms;
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const size = unitsMs[unit] ?? 1;
    const whole = unit === "ms" ? left : Math.floor(left / size);
    if (whole > 0) text += `${whole}${unit}`;
    left -= whole * size;
  }
  return text || "0s";
}

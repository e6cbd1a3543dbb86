import { niceCeiling } from "../view/nice-axis.ts";

export interface TimeTick {
  readonly atMs: number;
  readonly label: string;
}

const day = 86_400_000;

/** Round times of the day where the page is; with seconds only where they are needed, with the date over days. */
export function timeTicks(fromMs: number, toMs: number, most: number): readonly TimeTick[] {
  const step = niceCeiling((toMs - fromMs) / most);
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

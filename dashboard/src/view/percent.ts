/** A part from 0 to 1 as CSS wants it. */
export function percent(part: number): string {
  return `${Math.round(Math.min(1, Math.max(0, part)) * 10_000) / 100}%`;
}

/** Formats a share from 0 to 1 as a CSS percentage. */
export function percent(part: number): string {
  return `${Math.round(Math.min(1, Math.max(0, part)) * 10_000) / 100}%`;
}

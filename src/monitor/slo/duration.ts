const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  w: 604_800_000,
};

/** `500ms`, `1m30s`, `28d` in milliseconds; undefined for what is none. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d{1,9}(\.\d{1,9})?(ms|s|m|h|d|w)){1,6}$/.test(text)) return undefined;
  const parts = text.matchAll(/([\d.]+)([a-z]+)/g);
  let ms = 0;
  for (const [, amount, unit = ""] of parts) ms += Number(amount) * (unitMs[unit] ?? 0);
  return ms;
}

/** In the largest units that say it exactly: `1m30s`. */
export function formatDuration(ms: number): string {
  let left = ms;
  let text = "";
  for (const unit of ["d", "h", "m", "s", "ms"]) {
    const size = unitMs[unit] ?? 1;
    const whole = unit === "ms" ? left : Math.floor(left / size);
    if (whole > 0) text += `${whole}${unit}`;
    left -= whole * size;
  }
  return text || "0s";
}

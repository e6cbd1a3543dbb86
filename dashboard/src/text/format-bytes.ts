const units: readonly string[] = ["B", "kB", "MB", "GB", "TB"];

/** Decimal, as registries and `kindling pull` count: `0 B`, `12.3 MB`. */
export function formatBytes(bytes: number): string {
  const power = bytes < 999.5 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes * 1.0005) / 3));
  const value = bytes / 1_000 ** power;
  return `${power === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${units[power]}`;
}

/** Both in the unit of the whole: `12.3 of 80.0 MB`. */
export function formatPart(offset: number, total: number): string {
  if (total <= 0) return formatBytes(offset);
  const [whole = "", unit = ""] = formatBytes(total).split(" ");
  const part = offset / 1_000 ** units.indexOf(unit);
  return `${whole.includes(".") ? part.toFixed(1) : Math.round(part)} of ${whole} ${unit}`;
}

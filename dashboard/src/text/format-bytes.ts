const units: readonly string[] = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Formats bytes like `kindling why` and `kindling pull`: `0 B`, `12.3 MiB`. */
export function formatBytes(bytes: number): string {
  let value = bytes;
  let unit = 0;
  // Rounded first: 1023.9 KiB is 1.0 MiB.
  while (Math.round(value) >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit++;
  }
  return `${unit === 0 || value >= 99.95 ? Math.round(value) : value.toFixed(1)} ${units[unit]}`;
}

/** Formats progress in the unit of the total: `12.3 of 80.0 MiB`. */
export function formatPart(offset: number, total: number): string {
  if (total <= 0) return formatBytes(offset);
  const [whole = "", unit = ""] = formatBytes(total).split(" ");
  const part = offset / 1_024 ** units.indexOf(unit);
  return `${whole.includes(".") ? part.toFixed(1) : Math.round(part)} of ${whole} ${unit}`;
}

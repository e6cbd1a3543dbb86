const units = ["B", "KiB", "MiB", "GiB", "TiB"];

/** Formats a number of bytes with at most three digits: `1.5 MiB`. */
export function formatBytes(count: number): string {
  let value = count;
  let unit = 0;
  while (value >= 1_024 && unit < units.length - 1) {
    value /= 1_024;
    unit++;
  }
  const figures = unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1);
  return `${figures} ${units[unit]}`;
}

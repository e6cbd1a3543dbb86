const units = ["B", "KiB", "MiB", "GiB", "TiB"];

/** `1.5 MiB`: three figures at most, in the unit that fits. */
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

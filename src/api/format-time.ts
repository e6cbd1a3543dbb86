/** The last second that has four digits for its year: a grace period may be as long as a number can be. */
const lastSecond = Date.UTC(9999, 11, 31, 23, 59, 59) / 1_000;

let latest = { second: Number.NaN, text: "" };

/** A time as the API keeps it: UTC, whole seconds. Most of those that are asked for are of the same one. */
export function formatTime(ms: number): string {
  const second = Math.min(Math.floor(ms / 1_000), lastSecond);
  if (second !== latest.second) {
    latest = { second, text: `${new Date(second * 1_000).toISOString().slice(0, 19)}Z` };
  }
  return latest.text;
}

/** A time of a lease: UTC, six digits of a second. */
export function formatMicroTime(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 23)}000Z`;
}

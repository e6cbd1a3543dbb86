/** Formats a duration: `340 ms`, `3.4 s`, `2 min 05 s`, `3 h 12 min`, `2 d 4 h`. */
export function formatDuration(ms: number): string {
  if (!Number.isFinite(ms)) return "–";
  const whole = Math.max(0, ms);
  if (whole < 999.5) return `${Math.round(whole)} ms`;
  if (whole < 59_950) return `${(whole / 1_000).toFixed(1)} s`;
  return coarse(Math.round(whole / 1_000));
}

/** Formats a running duration, without milliseconds. */
export function formatElapsed(ms: number): string {
  const whole = Math.max(0, ms);
  return whole < 60_000
    ? `${(Math.floor(whole / 100) / 10).toFixed(1)} s`
    : coarse(Math.floor(whole / 1_000));
}

/** Formats an estimated remaining time, in whole seconds. */
export function formatLeft(seconds: number): string {
  return seconds < 60 ? `${Math.max(1, Math.ceil(seconds))} s` : coarse(Math.ceil(seconds));
}

function coarse(seconds: number): string {
  const two = (value: number) => String(value).padStart(2, "0");
  if (seconds < 3_600) return `${Math.floor(seconds / 60)} min ${two(seconds % 60)} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 1_440) return `${Math.floor(minutes / 60)} h ${two(minutes % 60)} min`;
  return `${Math.floor(minutes / 1_440)} d ${Math.floor((minutes % 1_440) / 60)} h`;
}

/** Formats an axis label as short as possible. */
export function formatTick(ms: number): string {
  if (ms < 1_000) return ms === 0 ? "0" : `${ms} ms`;
  if (ms < 60_000) return `${ms / 1_000} s`;
  if (ms < 3_600_000) return `${ms / 60_000} min`;
  return ms < 86_400_000 ? `${ms / 3_600_000} h` : `${ms / 86_400_000} d`;
}

/** A server that restarts is back within a second: it is looked for at short intervals that long. */
const quickTries = 6;
export const quickMs = 200;
const slowestMs = 30_000;

/**
 * How long to wait after so many failures in a row: about a second's worth of quick tries, then from 0.8 s up to 30 s.
 * Spread by chance, so that the clients of a server do not come back all at once.
 */
export function reconnectDelayMs(failures: number, random: () => number): number {
  if (failures <= quickTries) return quickMs * (0.5 + random() / 2);
  const baseMs = Math.min(slowestMs, 1_600 * 2 ** Math.min(failures - quickTries - 1, 16));
  return baseMs * (0.5 + random() / 2);
}

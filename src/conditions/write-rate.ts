/** Time between two writes of the controller: 50 writes a second. */
const writeIntervalMs = 20;

/**
 * Time until the next write is allowed; 0 if it is allowed now. Writes do not add up while none is needed, so that no
 * second has more than 50.
 */
export function writeWaitMs(lastWriteMs: number | undefined, now: number): number {
  // Writes must not stop when the clock was set back.
  if (lastWriteMs === undefined || now < lastWriteMs) return 0;
  return Math.max(0, lastWriteMs + writeIntervalMs - now);
}

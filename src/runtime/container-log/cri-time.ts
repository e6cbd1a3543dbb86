/** Gives the times of log lines: the wall clock with nanoseconds, never going backwards between two lines. */
export function createCriTime(source: { nowMs: () => number; monotonicNanos: () => bigint }): () => string {
  const driftNanos = 50_000_000n;
  let offset = wallNanos() - source.monotonicNanos();

  function wallNanos(): bigint {
    return BigInt(Math.floor(source.nowMs())) * 1_000_000n;
  }

  return () => {
    const wall = wallNanos();
    let nanos = source.monotonicNanos() + offset;
    // The wall clock was set: follow it.
    if (nanos - wall > driftNanos || wall - nanos > driftNanos) {
      offset += wall - nanos;
      nanos = wall;
    }
    const seconds = new Date(Number(nanos / 1_000_000n)).toISOString().slice(0, 19);
    return `${seconds}.${String(nanos % 1_000_000_000n).padStart(9, "0")}Z`;
  };
}

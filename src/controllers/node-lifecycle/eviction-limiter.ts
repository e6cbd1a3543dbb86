interface EvictionLimiter {
  /** 0 when it may be done now, and then counts as done; otherwise how long to wait. Infinity at a rate of 0. */
  take(zone: string, ratePerSecond: number, now: number): number;
}

/** Lets nodes of a zone through one by one, as far apart as the rate says. */
export function createEvictionLimiter(): EvictionLimiter {
  const lastAt = new Map<string, number>();
  return {
    take(zone, ratePerSecond, now) {
      if (ratePerSecond === 0) return Number.POSITIVE_INFINITY;
      const last = lastAt.get(zone);
      const waitMs = last === undefined ? 0 : last + 1_000 / ratePerSecond - now;
      if (waitMs > 0) return waitMs;
      lastAt.set(zone, now);
      return 0;
    },
  };
}

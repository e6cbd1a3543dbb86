/** Whether something is waited for from the network, and when a byte last came. */
export interface Activity {
  readonly waiting: boolean;
  readonly lastAtMs: number;
}

/** Kept by whoever talks to the network. */
export interface ActivityMeter extends Activity {
  /** A byte came. */
  touch(): void;
  /** Runs what waits for the network; the time before does not count. */
  during<T>(work: () => Promise<T>): Promise<T>;
}

export function createActivityMeter(now: () => number): ActivityMeter {
  let count = 0;
  let lastAtMs = now();
  return {
    get waiting() {
      return count > 0;
    },
    get lastAtMs() {
      return lastAtMs;
    },
    touch() {
      lastAtMs = now();
    },
    async during(work) {
      if (count++ === 0) lastAtMs = now();
      try {
        return await work();
      } finally {
        count--;
      }
    },
  };
}

/**
 * When the pull counts as stalled unless a byte comes; undefined while nothing is waited for. A byte anywhere is
 * progress, and unpacking is no wait.
 */
export function stallDeadline(activities: readonly Activity[], timeoutMs: number): number | undefined {
  if (timeoutMs <= 0 || !activities.some(({ waiting }) => waiting)) return undefined;
  return Math.max(...activities.map(({ lastAtMs }) => lastAtMs)) + timeoutMs;
}

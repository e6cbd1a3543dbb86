import type { Clock } from "../../lib/clock.ts";

/** Closed watches after which their memory is worth a full collection, which takes about 100 ms with 10,000 of them. */
const minClosed = 1_000;
const quietMs = 2_000;

/**
 * Returns the memory of closed watches. V8 collects the objects of a closed connection only when new ones need their
 * place, so a server that served many watches and is idle afterwards would keep their memory. The collection runs once
 * no watch has been closed for two seconds.
 */
export function createMemoryReclaimer(deps: {
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly collect: () => void;
}): { watchClosed(): void } {
  const { clock, signal, collect } = deps;
  let closed = 0;
  let isWaiting = false;

  async function collectWhenQuiet(): Promise<void> {
    let seen = -1;
    while (seen !== closed) {
      seen = closed;
      await clock.sleep(quietMs, signal);
    }
    closed = 0;
    collect();
  }

  return {
    watchClosed() {
      closed++;
      if (closed < minClosed || isWaiting) return;
      isWaiting = true;
      collectWhenQuiet()
        .catch(() => {})
        .finally(() => {
          isWaiting = false;
        });
    },
  };
}

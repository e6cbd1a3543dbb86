import { type FSWatcher, watch } from "node:fs";
import type { Clock } from "../../lib/clock.ts";
import { createWakeUp } from "../../lib/wake-up.ts";

/** Tells who waits for a container that its exit file has appeared: one inotify watch for all of them. */
export interface ExitWatch {
  /** Asks `check` now, on every sign of the exit file, and now and then in case a sign was lost. */
  until<T>(containerId: string, check: () => Promise<T | undefined>, signal: AbortSignal): Promise<T>;
  close(): void;
}

export function createExitWatch(dir: string, options: { clock: Clock; slowPollMs: number }): ExitWatch {
  const { clock, slowPollMs } = options;
  const wakers = new Map<string, Set<() => void>>();
  let watcher: FSWatcher | undefined;

  function startWatching(): void {
    try {
      watcher ??= watch(dir, { persistent: false }, (_event, name) => {
        for (const wake of wakers.get(String(name)) ?? []) wake();
      }).on("error", stopWatching);
    } catch {
      // The machine has no watch left to give: the slow poll goes on without it.
    }
  }

  function stopWatching(): void {
    watcher?.close();
    watcher = undefined;
  }

  return {
    async until(containerId, check, signal) {
      startWatching();
      const mine = wakers.get(containerId) ?? new Set();
      wakers.set(containerId, mine);
      const wakeUp = createWakeUp();
      mine.add(wakeUp.wake);
      try {
        for (;;) {
          signal.throwIfAborted();
          const woken = wakeUp.next();
          const found = await check();
          if (found !== undefined) return found;
          await woken.orAt(clock.now() + slowPollMs, { clock, signal });
        }
      } finally {
        mine.delete(wakeUp.wake);
        if (mine.size === 0) wakers.delete(containerId);
      }
    },
    close: stopWatching,
  };
}

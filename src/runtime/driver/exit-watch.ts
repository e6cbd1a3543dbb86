import { type FSWatcher, watch } from "node:fs";
import type { Clock } from "../../lib/clock.ts";

/** Tells who waits for a container that its exit file has appeared: one inotify watch for all of them. */
export interface ExitWatch {
  /** Asks `check` now, on every sign of the exit file, and now and then in case a sign was lost. */
  until<T>(containerId: string, check: () => Promise<T | undefined>, signal: AbortSignal): Promise<T>;
  close(): void;
}

export function createExitWatch(dir: string, options: { clock: Clock; slowPollMs: number }): ExitWatch {
  const wakers = new Map<string, Set<() => void>>();
  let watcher: FSWatcher | undefined;

  function startWatching(): void {
    watcher ??= watch(dir, { persistent: false }, (_event, name) => {
      for (const wake of wakers.get(String(name)) ?? []) wake();
    }).on("error", () => {
      // The slow poll goes on without it.
      watcher?.close();
      watcher = undefined;
    });
  }

  return {
    async until(containerId, check, signal) {
      startWatching();
      const mine = wakers.get(containerId) ?? new Set();
      wakers.set(containerId, mine);
      let woken = false;
      let wakeSleeper = () => {};
      const wake = () => {
        woken = true;
        wakeSleeper();
      };
      mine.add(wake);
      try {
        for (;;) {
          signal.throwIfAborted();
          woken = false;
          const found = await check();
          if (found !== undefined) return found;
          if (woken) continue;
          await sleepUntilWoken((awake) => {
            wakeSleeper = awake;
          }, signal);
        }
      } finally {
        mine.delete(wake);
        if (mine.size === 0) wakers.delete(containerId);
      }
    },
    close: () => watcher?.close(),
  };

  async function sleepUntilWoken(onSleep: (wake: () => void) => void, signal: AbortSignal): Promise<void> {
    const woken = new AbortController();
    onSleep(() => woken.abort());
    try {
      await options.clock.sleep(options.slowPollMs, AbortSignal.any([woken.signal, signal]));
    } catch {
      signal.throwIfAborted();
    }
  }
}

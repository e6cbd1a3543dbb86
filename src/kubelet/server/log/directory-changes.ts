import { type FSWatcher, watch } from "node:fs";
import type { Clock } from "../../../lib/clock.ts";

/** Tells that something happened in a folder. */
export interface DirectoryChanges {
  /** Resolves with the next change since it was last asked, or after this time without one. */
  next(options: { atMostMs: number; signal: AbortSignal }): Promise<void>;
  close(): void;
}

/** Where the kernel has no watch left to give, changes show only by the time that passes. */
export function watchDirectory(path: string, clock: Clock): DirectoryChanges {
  let changed = false;
  let wake: (() => void) | undefined;
  const watcher = tryToWatch(path, () => {
    changed = true;
    wake?.();
  });
  return {
    async next({ atMostMs, signal }) {
      signal.throwIfAborted();
      const waiting = new AbortController();
      const stop = () => waiting.abort();
      signal.addEventListener("abort", stop, { once: true });
      wake = stop;
      if (changed) stop();
      await clock.sleep(atMostMs, waiting.signal).catch(() => {});
      signal.removeEventListener("abort", stop);
      changed = false;
      signal.throwIfAborted();
    },
    close: () => watcher?.close(),
  };
}

function tryToWatch(path: string, onChange: () => void): FSWatcher | undefined {
  try {
    const watcher = watch(path, { persistent: false }, onChange);
    watcher.on("error", () => watcher.close());
    return watcher;
  } catch {
    return undefined;
  }
}

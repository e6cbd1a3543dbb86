import { type FSWatcher, watch } from "node:fs";
import type { Clock } from "../../../lib/clock.ts";

/** Changes in a directory. */
export interface DirectoryChanges {
  /** Resolves after the next change since the last call, or after the timeout. */
  next(options: { timeoutMs: number; signal: AbortSignal }): Promise<void>;
  close(): void;
}

/** Watches a directory. If the kernel has no inotify watch left, `next` resolves after its timeout only. */
export function watchDirectory(path: string, clock: Clock): DirectoryChanges {
  let changed = false;
  let wake: (() => void) | undefined;
  const watcher = tryToWatch(path, () => {
    changed = true;
    wake?.();
  });
  return {
    async next({ timeoutMs, signal }) {
      signal.throwIfAborted();
      const waiting = new AbortController();
      const stop = () => waiting.abort();
      signal.addEventListener("abort", stop, { once: true });
      wake = stop;
      if (changed) stop();
      await clock.sleep(timeoutMs, waiting.signal).catch(() => {});
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

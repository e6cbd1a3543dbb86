import type { Clock } from "./clock.ts";
import { createHeap } from "./heap.ts";

/** Queue of deadlines that share one sleep: thousands of deadlines need one timer. */
export interface TimerQueue {
  /** Calls the function once, at the given time or slightly later. Returns a function that cancels the call. */
  at(atMs: number, onDue: () => void): () => void;
  /** Number of pending deadlines. */
  size(): number;
  /** Drops all deadlines, including later ones. */
  close(): void;
}

interface Entry {
  atMs: number;
  /** Undefined once cancelled or called. */
  onDue: (() => void) | undefined;
}

/** Maximum sleep, below the limit of Node's timers. */
const maxSleepMs = 24 * 3_600_000;
/** Tolerated clock adjustment. Node's timers may fire a millisecond early, and NTP adjusts clocks slightly. */
const toleratedMs = 1_000;

/**
 * Creates a timer queue. Wake-ups are at least `gapMs` apart, so that close deadlines share one: with 10 ms this halves
 * the CPU time of a thousand deadlines a second. A single deadline is on time.
 */
export function createTimerQueue({ clock, gapMs = 0 }: { clock: Clock; gapMs?: number }): TimerQueue {
  /** Contains cancelled entries until they are first, or more than half of all. */
  const heap = createHeap<Entry>((a, b) => a.atMs < b.atMs);
  let entries = 0;
  let cancelled = 0;
  let lastSeenMs = Number.NEGATIVE_INFINITY;
  let lastWakeMs = Number.NEGATIVE_INFINITY;
  let sleeping: { readonly untilMs: number; readonly abort: AbortController } | undefined;
  let closed = false;

  /** Reads the clock. If it was set back, deadlines move with it; otherwise all would be late. */
  function readClock(expectedMs = lastSeenMs): number {
    const now = clock.now();
    const backMs = Math.max(expectedMs, lastSeenMs) - now;
    if (backMs > toleratedMs) for (const entry of heap.values()) entry.atMs -= backMs;
    lastSeenMs = now;
    return now;
  }

  /** Removes the first entry. Returns its function unless it was cancelled. */
  function removeFirst(): (() => void) | undefined {
    const first = heap.pop();
    if (!first) return undefined;
    const { onDue } = first;
    entries--;
    if (!onDue) cancelled--;
    first.onDue = undefined;
    return onDue;
  }

  function removeCancelled(): void {
    const pending = [...heap.values()].filter(({ onDue }) => onDue);
    heap.clear();
    for (const entry of pending) heap.push(entry);
    entries = pending.length;
    cancelled = 0;
  }

  function stopSleeping(): void {
    sleeping?.abort.abort();
    sleeping = undefined;
  }

  function arm(now: number): void {
    for (let first = heap.peek(); first && !first.onDue; first = heap.peek()) removeFirst();
    const first = heap.peek();
    if (!first || closed) {
      stopSleeping();
      return;
    }
    const untilMs = Math.max(first.atMs, Math.min(lastWakeMs, now) + gapMs);
    if (sleeping && sleeping.untilMs <= untilMs) return;
    stopSleeping();
    const abort = new AbortController();
    sleeping = { untilMs, abort };
    const forMs = Math.min(Math.max(0, untilMs - now), maxSleepMs);
    clock.sleep(forMs, abort.signal).then(
      () => wake(now + forMs),
      // Aborted: replaced by an earlier sleep, or the queue is empty or closed.
      () => {},
    );
  }

  function wake(expectedMs: number): void {
    sleeping = undefined;
    const now = readClock(expectedMs);
    lastWakeMs = now;
    for (let first = heap.peek(); first && first.atMs <= now && !closed; first = heap.peek())
      removeFirst()?.();
    arm(now);
  }

  return {
    at(atMs, onDue) {
      const entry: Entry = { atMs, onDue };
      const now = readClock();
      heap.push(entry);
      entries++;
      if (heap.peek() === entry) arm(now);
      return () => {
        if (!entry.onDue) return;
        entry.onDue = undefined;
        cancelled++;
        if (2 * cancelled > entries) removeCancelled();
        arm(readClock());
      };
    },
    size: () => entries - cancelled,
    close() {
      closed = true;
      heap.clear();
      entries = 0;
      cancelled = 0;
      stopSleeping();
    },
  };
}

/** Waits until a point in time, which may be `Infinity`. */
export async function sleepUntil(clock: Clock, atMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  for (let left = atMs - clock.now(); left > 0; left = atMs - clock.now())
    await clock.sleep(Math.min(left, maxSleepMs), signal);
}

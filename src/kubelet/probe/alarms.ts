import type { Clock } from "../../lib/clock.ts";

/** Many deadlines on one timer. */
export interface Alarms {
  /** Rings once, at the time or a little later. The same function may be set many times. */
  set(atMs: number, ring: () => void): Alarm;
  close(): void;
}

export interface Alarm {
  cancel(): void;
}

interface Entry extends Alarm {
  atMs: number;
  ring: (() => void) | undefined;
}

/** What a timer of Node can wait for at most, with room. */
const longestSleepMs = 24 * 3_600_000;
/** Timers of Node may be early by a millisecond; clocks are trimmed by some. */
const toleratedMs = 1_000;

/**
 * Wake-ups are at least `gapMs` apart, so that deadlines that lie close together share one: with a thousand a second
 * that halves what they cost. A lone deadline is on time.
 */
export function createAlarms({ clock, gapMs }: { clock: Clock; gapMs: number }): Alarms {
  const heap: Entry[] = [];
  let lastSeenMs = Number.NEGATIVE_INFINITY;
  let lastWakeMs = Number.NEGATIVE_INFINITY;
  let sleeping: { readonly untilMs: number; readonly abort: AbortController } | undefined;
  let closed = false;

  /** The time. When the system clock was set back, deadlines move with it, or all would be late by that much. */
  function readClock(expectedMs = lastSeenMs): number {
    const now = clock.now();
    const backMs = Math.max(expectedMs, lastSeenMs) - now;
    if (backMs > toleratedMs) for (const entry of heap) entry.atMs -= backMs;
    lastSeenMs = now;
    return now;
  }

  function arm(now: number): void {
    const first = heap[0];
    if (!first || closed) return;
    const untilMs = Math.max(first.atMs, Math.min(lastWakeMs, now) + gapMs);
    if (sleeping && sleeping.untilMs <= untilMs) return;
    sleeping?.abort.abort();
    const abort = new AbortController();
    sleeping = { untilMs, abort };
    const forMs = Math.min(Math.max(0, untilMs - now), longestSleepMs);
    clock.sleep(forMs, abort.signal).then(
      () => wake(now + forMs),
      // Aborted: an earlier sleep took its place, or nobody waits any more.
      () => {},
    );
  }

  function wake(expectedMs: number): void {
    sleeping = undefined;
    const now = readClock(expectedMs);
    lastWakeMs = now;
    for (let first = heap[0]; first && first.atMs <= now && !closed; first = heap[0]) {
      removeFirst(heap);
      first.ring?.();
    }
    arm(now);
  }

  return {
    set(atMs, ring) {
      const entry: Entry = {
        atMs,
        ring,
        // It stays in the heap until its time: nothing needs to be looked for.
        cancel() {
          entry.ring = undefined;
        },
      };
      const now = readClock();
      insert(heap, entry);
      if (heap[0] === entry) arm(now);
      return entry;
    },
    close() {
      closed = true;
      heap.length = 0;
      sleeping?.abort.abort();
    },
  };
}

function insert(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1;
  while (index > 0) {
    const parentIndex = (index - 1) >> 1;
    const parent = heap[parentIndex];
    if (!parent || parent.atMs <= entry.atMs) break;
    heap[index] = parent;
    index = parentIndex;
  }
  heap[index] = entry;
}

function removeFirst(heap: Entry[]): void {
  const last = heap.pop();
  if (!last || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const left = heap[2 * index + 1];
    const right = heap[2 * index + 2];
    const rightIsLess = left !== undefined && right !== undefined && right.atMs < left.atMs;
    const child = rightIsLess ? right : left;
    if (!child || child.atMs >= last.atMs) break;
    heap[index] = child;
    index = 2 * index + (rightIsLess ? 2 : 1);
  }
  heap[index] = last;
}

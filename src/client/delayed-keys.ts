import { createHeap } from "../lib/heap.ts";

interface Delayed {
  readonly key: string;
  readonly readyAt: number;
}

/** Keys that wait for a time, each once: the earliest time that was asked for. */
export interface DelayedKeys {
  add(key: string, readyAt: number): void;
  /** When the first of them is ready. */
  nextAt(): number | undefined;
  /** The first one that is ready, taken out. */
  take(now: number): string | undefined;
}

/** An entry that an earlier one replaced stays in the heap, and is passed over when it comes up. */
export function createDelayedKeys(): DelayedKeys {
  const heap = createHeap<Delayed>((a, b) => a.readyAt < b.readyAt);
  const times = new Map<string, number>();

  /** The first entry that still counts. */
  function first(): Delayed | undefined {
    for (;;) {
      const entry = heap.peek();
      if (!entry || times.get(entry.key) === entry.readyAt) return entry;
      heap.pop();
    }
  }

  return {
    add(key, readyAt) {
      if (readyAt >= (times.get(key) ?? Number.POSITIVE_INFINITY)) return;
      times.set(key, readyAt);
      heap.push({ key, readyAt });
    },
    nextAt: () => first()?.readyAt,
    take(now) {
      const entry = first();
      if (!entry || entry.readyAt > now) return undefined;
      heap.pop();
      times.delete(entry.key);
      return entry.key;
    },
  };
}

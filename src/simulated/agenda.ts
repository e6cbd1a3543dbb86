import type { Clock } from "../lib/clock.ts";
import { pauseUntil } from "./pause.ts";

interface Entry {
  readonly atMs: number;
  /** Undefined: cancelled. */
  action: (() => void) | undefined;
}

/** What happens by itself later. One sleep for all of it: a thousand containers that will exit cost no timers. */
export interface Agenda {
  /** Returns what cancels it. */
  at(atMs: number, action: () => void): () => void;
  /** How many actions wait. */
  size(): number;
  close(): void;
}

export function createAgenda(clock: Clock): Agenda {
  /** A binary heap by time, with cancelled entries in it until they are the first or the most. */
  let heap: Entry[] = [];
  let cancelled = 0;
  let sleeping: { readonly atMs: number; readonly controller: AbortController } | undefined;

  function sleepUntilFirst(): void {
    while (heap[0] && !heap[0].action) {
      takeFirst(heap);
      cancelled--;
    }
    const atMs = heap[0]?.atMs;
    if (sleeping?.atMs === atMs) return;
    sleeping?.controller.abort();
    sleeping = undefined;
    if (atMs === undefined) return;
    const mine = { atMs, controller: new AbortController() };
    sleeping = mine;
    pauseUntil(clock, atMs, mine.controller.signal).then(
      () => {
        if (sleeping === mine) runDue();
      },
      () => {
        // An earlier entry came, or the agenda was closed.
      },
    );
  }

  function runDue(): void {
    sleeping = undefined;
    while (heap[0] && heap[0].atMs <= clock.now()) {
      const { action } = takeFirst(heap);
      if (action) action();
      else cancelled--;
    }
    sleepUntilFirst();
  }

  return {
    at(atMs, action) {
      const entry: Entry = { atMs, action };
      add(heap, entry);
      sleepUntilFirst();
      return () => {
        if (!entry.action) return;
        entry.action = undefined;
        cancelled++;
        if (2 * cancelled > heap.length) {
          // What is sorted is a heap.
          heap = heap.filter((one) => one.action).sort((a, b) => a.atMs - b.atMs);
          cancelled = 0;
        }
        sleepUntilFirst();
      };
    },
    size: () => heap.length - cancelled,
    close() {
      heap = [];
      cancelled = 0;
      sleepUntilFirst();
    },
  };
}

function add(heap: Entry[], entry: Entry): void {
  let index = heap.push(entry) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    const above = heap[parent];
    if (!above || above.atMs <= entry.atMs) break;
    heap[index] = above;
    index = parent;
  }
  heap[index] = entry;
}

/** The heap must have one. */
function takeFirst(heap: Entry[]): Entry {
  const [first] = heap;
  const last = heap.pop();
  if (!first || !last) throw new Error("the agenda is empty");
  if (first === last) return first;
  let index = 0;
  for (;;) {
    const left = 2 * index + 1;
    const [a, b] = [heap[left], heap[left + 1]];
    const child = b && a && b.atMs < a.atMs ? left + 1 : left;
    const below = heap[child];
    if (!below || below.atMs >= last.atMs) break;
    heap[index] = below;
    index = child;
  }
  heap[index] = last;
  return first;
}

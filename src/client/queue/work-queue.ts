import type { Clock } from "../../lib/clock.ts";
import { createHeap } from "../../lib/heap.ts";
import { createWakeUp } from "../../lib/wake-up.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Called with the error when handling a key failed. */
  readonly onFailure?: (key: string, error: unknown) => void;
  /** Called when a key is added, once until it is taken. */
  readonly onAdd?: (key: string) => void;
  /** Called when handling of a key starts. */
  readonly onTake?: (key: string) => void;
}

/**
 * Queue of object keys. A key is queued at most once and never handled concurrently; a key that is added while it is
 * handled is handled again.
 */
export interface WorkQueue {
  add(key: string): void;
  addAfter(key: string, delayMs: number): void;
  /** Number of keys that are ready to be handled. */
  size(): number;
  /**
   * Handles keys with the given concurrency until the signal aborts; resolves when the last handler is done. Failed keys
   * are requeued with exponential back-off. May be called once.
   */
  run(
    signal: AbortSignal,
    concurrency: number,
    handle: (key: string, signal: AbortSignal) => Promise<void>,
  ): Promise<void>;
}

/** Back-off after the first failure of a key; doubles with each further one. */
const firstDelayMs = 5;
const maxDelayMs = 1_000_000;

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { clock, onFailure, onAdd, onTake } = options;
  let waiting: string[] = [];
  // Advances an index instead of shifting, which costs O(n) for a long array.
  let head = 0;
  /** Keys that are queued, or will be queued when their handler is done. */
  const dirty = new Set<string>();
  const processing = new Set<string>();
  const delayed = createDelayedKeys();
  const failures = new Map<string, number>();
  const delays = createWakeUp();
  let idle: (() => void)[] = [];

  function enqueue(key: string): void {
    waiting.push(key);
    idle.pop()?.();
  }

  function add(key: string): void {
    if (dirty.has(key)) return;
    dirty.add(key);
    onAdd?.(key);
    if (!processing.has(key)) enqueue(key);
  }

  function addAfter(key: string, delayMs: number): void {
    if (delayMs <= 0) {
      add(key);
      return;
    }
    const before = delayed.nextAt();
    delayed.add(key, clock.now() + delayMs);
    if (delayed.nextAt() !== before) delays.wake();
  }

  function requeue(key: string): void {
    const count = failures.get(key) ?? 0;
    failures.set(key, count + 1);
    addAfter(key, Math.min(firstDelayMs * 2 ** count, maxDelayMs));
  }

  function take(): string | undefined {
    const key = waiting[head];
    if (key === undefined) return undefined;
    head++;
    if (head === waiting.length) {
      waiting = [];
      head = 0;
    }
    dirty.delete(key);
    processing.add(key);
    onTake?.(key);
    return key;
  }

  function done(key: string): void {
    processing.delete(key);
    if (dirty.has(key)) enqueue(key);
  }

  async function work(
    signal: AbortSignal,
    handle: (key: string, signal: AbortSignal) => Promise<void>,
  ): Promise<void> {
    while (!signal.aborted) {
      const key = take();
      if (key === undefined) {
        await new Promise<void>((resolve) => idle.push(resolve));
        continue;
      }
      try {
        await handle(key, signal);
        failures.delete(key);
      } catch (error) {
        if (!signal.aborted) onFailure?.(key, error);
        requeue(key);
      }
      done(key);
    }
  }

  /** Adds delayed keys when they are ready. */
  async function addDelayed(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const earlier = delays.next();
      for (let key = delayed.take(clock.now()); key !== undefined; key = delayed.take(clock.now())) add(key);
      const nextAt = delayed.nextAt() ?? Number.POSITIVE_INFINITY;
      await earlier.orAt(nextAt, { clock, signal }).catch(() => {});
    }
  }

  return {
    add,
    addAfter,
    size: () => waiting.length - head,
    async run(signal, concurrency, handle) {
      const stop = () => {
        for (const wake of idle) wake();
        idle = [];
      };
      signal.addEventListener("abort", stop, { once: true });
      const workers = Array.from({ length: concurrency }, () => work(signal, handle));
      await Promise.all([...workers, addDelayed(signal)]);
    },
  };
}

interface Delayed {
  readonly key: string;
  readonly readyAt: number;
}

/** Delayed keys, each with its earliest requested time. */
export interface DelayedKeys {
  add(key: string, readyAt: number): void;
  /** Time of the first key. */
  nextAt(): number | undefined;
  /** Removes and returns the first key that is ready. */
  take(now: number): string | undefined;
}

/** Replaced entries stay in the heap and are skipped. */
export function createDelayedKeys(): DelayedKeys {
  const heap = createHeap<Delayed>((a, b) => a.readyAt < b.readyAt);
  const times = new Map<string, number>();

  /** First entry that was not replaced. */
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

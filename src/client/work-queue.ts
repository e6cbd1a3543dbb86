import type { Clock } from "../lib/clock.ts";
import { createWakeUp } from "../lib/wake-up.ts";
import { createDelayedKeys } from "./delayed-keys.ts";

export interface WorkQueueOptions {
  readonly clock: Clock;
  /** Hears why a key comes again. */
  readonly onFailure?: (key: string, error: unknown) => void;
  /** Hears of a key that is to be handled, once until it is taken. */
  readonly onAdd?: (key: string) => void;
  /** Hears of a key that is being handled now. */
  readonly onTake?: (key: string) => void;
}

/**
 * Keys of objects that want attention. A key waits at most once, is never handled twice at the same time, and one that
 * is added while it is being handled is handled again.
 */
export interface WorkQueue {
  add(key: string): void;
  addAfter(key: string, delayMs: number): void;
  /** How many keys wait to be handled now. */
  size(): number;
  /**
   * Handles keys until the signal aborts, so many at a time; resolves when the last one is done. A key whose handling
   * fails comes again, later each time until it succeeds. Once only.
   */
  run(
    signal: AbortSignal,
    concurrency: number,
    handle: (key: string, signal: AbortSignal) => Promise<void>,
  ): Promise<void>;
}

/** After the first failure of a key; doubles with each further one. */
const firstDelayMs = 5;
const maxDelayMs = 1_000_000;

export function createWorkQueue(options: WorkQueueOptions): WorkQueue {
  const { clock, onFailure, onAdd, onTake } = options;
  let waiting: string[] = [];
  // Reads advance an index instead of shifting: a shift of a long array costs its length.
  let head = 0;
  /** Waiting, or to wait again once it is no longer in hand. */
  const wanted = new Set<string>();
  const inHand = new Set<string>();
  const delayed = createDelayedKeys();
  const failures = new Map<string, number>();
  const delays = createWakeUp();
  let idle: (() => void)[] = [];

  function enqueue(key: string): void {
    waiting.push(key);
    idle.pop()?.();
  }

  function add(key: string): void {
    if (wanted.has(key)) return;
    wanted.add(key);
    onAdd?.(key);
    if (!inHand.has(key)) enqueue(key);
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

  function addAgain(key: string): void {
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
    wanted.delete(key);
    inHand.add(key);
    onTake?.(key);
    return key;
  }

  function done(key: string): void {
    inHand.delete(key);
    if (wanted.has(key)) enqueue(key);
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
        addAgain(key);
      }
      done(key);
    }
  }

  /** Moves keys over when their time has come. */
  async function keepTime(signal: AbortSignal): Promise<void> {
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
      await Promise.all([...workers, keepTime(signal)]);
    },
  };
}

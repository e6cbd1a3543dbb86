import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createDelayedKeys, createWorkQueue, type WorkQueueOptions } from "./work-queue.ts";

function start(
  options: Partial<WorkQueueOptions> & { concurrency?: number; fail?: (key: string) => boolean } = {},
) {
  const clock = createManualClock();
  const queue = createWorkQueue({ clock, ...options });
  const stop = new AbortController();
  const begun: string[] = [];
  const finish = new Map<string, () => void>();
  let manual = false;
  const running = queue.run(stop.signal, options.concurrency ?? 1, async (key) => {
    begun.push(`${clock.now()} ${key}`);
    if (options.fail?.(key)) throw new Error(`${key} failed`);
    if (manual) await new Promise<void>((resolve) => finish.set(key, resolve));
  });
  return {
    clock,
    queue,
    begun,
    running,
    finish: (key: string) => finish.get(key)?.(),
    holdWork: () => {
      manual = true;
    },
    async stop() {
      stop.abort();
      await running;
    },
  };
}

describe("a work queue", () => {
  test("handles a key once and in order, however often it was added", async () => {
    const { queue, clock, begun, stop } = start();
    for (const key of ["a", "b", "a", "a"]) queue.add(key);
    expect(queue.size()).toBe(2);
    await clock.advance(0);
    expect(begun).toEqual(["0 a", "0 b"]);
    await stop();
  });

  test("handles a key again that was added during its handling, but never concurrently", async () => {
    const { queue, clock, begun, stop, holdWork, finish } = start({ concurrency: 3 });
    holdWork();
    queue.add("a");
    await clock.advance(0);
    queue.add("a");
    queue.add("a");
    await clock.advance(0);
    expect(begun).toEqual(["0 a"]);
    finish("a");
    await clock.advance(0);
    expect(begun).toEqual(["0 a", "0 a"]);
    finish("a");
    await clock.advance(0);
    expect(begun).toHaveLength(2);
    await stop();
  });

  test("handles keys with the given concurrency", async () => {
    const { queue, clock, begun, stop, holdWork, finish } = start({ concurrency: 2 });
    holdWork();
    for (const key of ["a", "b", "c"]) queue.add(key);
    await clock.advance(0);
    expect(begun).toEqual(["0 a", "0 b"]);
    finish("b");
    await clock.advance(0);
    expect(begun.at(-1)).toBe("0 c");
    for (const key of ["a", "c"]) finish(key);
    await stop();
  });

  test("adds after a delay; the earliest time wins", async () => {
    const { queue, clock, begun, stop } = start();
    queue.addAfter("late", 100);
    queue.addAfter("late", 30);
    queue.addAfter("late", 60);
    queue.addAfter("soon", 10);
    queue.addAfter("now", 0);
    await clock.advance(200);
    expect(begun).toEqual(["0 now", "10 soon", "30 late"]);
    await stop();
  });

  test("requeues failed keys with back-off, which resets after a success", async () => {
    let failing = true;
    const failures: string[] = [];
    const { queue, clock, begun, stop } = start({
      fail: () => failing,
      onFailure: (key, error) => failures.push(`${key}: ${error}`),
    });
    queue.add("a");
    await clock.advance(5 + 10 + 20 + 40);
    expect(begun).toEqual(["0 a", "5 a", "15 a", "35 a", "75 a"]);
    expect(failures[0]).toBe("a: Error: a failed");
    failing = false;
    await clock.advance(80);
    failing = true;
    queue.add("a");
    await clock.advance(5);
    expect(begun.slice(-3)).toEqual(["155 a", "155 a", "160 a"]);
    await stop();
  });

  test("limits the back-off to 1,000 s", async () => {
    const { queue, clock, begun, stop } = start({ fail: () => true });
    queue.add("a");
    await clock.advance(10_000_000);
    const times = begun.map((line) => Number(line.split(" ")[0]));
    expect((times.at(-1) ?? 0) - (times.at(-2) ?? 0)).toBe(1_000_000);
    await stop();
  });

  test("keeps keys added before it runs, and waits for running handlers at the end", async () => {
    const clock = createManualClock();
    const queue = createWorkQueue({ clock });
    queue.add("a");
    queue.addAfter("b", 10);
    const stop = new AbortController();
    let finish: (() => void) | undefined;
    let ended = false;
    const handled: string[] = [];
    const running = queue
      .run(stop.signal, 2, async (key) => {
        handled.push(key);
        if (key === "b") await new Promise<void>((resolve) => (finish = resolve));
      })
      .then(() => {
        ended = true;
      });
    await clock.advance(10);
    expect(handled).toEqual(["a", "b"]);
    stop.abort();
    await clock.advance(0);
    expect(ended).toBe(false);
    finish?.();
    await running;
    expect(clock.sleeping()).toBe(0);
  });
});

test("delayed keys are returned by their earliest time, each once", () => {
  const entries = fc.array(fc.record({ key: fc.constantFrom(..."abcdefgh"), at: fc.nat(50) }));
  fc.assert(
    fc.property(entries, (added) => {
      const delayed = createDelayedKeys();
      const earliest = new Map<string, number>();
      for (const { key, at } of added) {
        delayed.add(key, at);
        earliest.set(key, Math.min(at, earliest.get(key) ?? at));
      }
      const taken = new Map<string, number>();
      for (let now = 0; now <= 50; now++) {
        for (let key = delayed.take(now); key !== undefined; key = delayed.take(now)) {
          expect(taken.has(key)).toBe(false);
          taken.set(key, now);
        }
      }
      expect(taken).toEqual(earliest);
      expect(delayed.nextAt()).toBeUndefined();
    }),
  );
});

test("a taken key can be delayed again", () => {
  const delayed = createDelayedKeys();
  delayed.add("a", 1);
  expect(delayed.take(1)).toBe("a");
  delayed.add("a", 2);
  expect(delayed.take(1)).toBeUndefined();
  expect(delayed.nextAt()).toBe(2);
});

import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createMovableClock } from "./movable-clock.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const settle = async () => {
  for (let turn = 0; turn < 10; turn++) await Promise.resolve();
};

test("follows the system clock", async () => {
  const clock = createMovableClock({ settle });
  const began = clock.now();
  const slept = clock.sleep(1_000).then(() => clock.now());
  vi.advanceTimersByTime(1_000);
  expect((await slept) - began).toBe(1_000);
});

test("advance wakes sleepers in the order of their deadlines, including repeated sleeps", async () => {
  const clock = createMovableClock({ settle });
  const began = clock.now();
  const seen: string[] = [];
  const tick = async (name: string, ms: number) => {
    for (;;) {
      await clock.sleep(ms);
      seen.push(`${name} ${clock.now() - began}`);
    }
  };
  void tick("a", 4_000);
  void tick("b", 10_000);
  await clock.advance(12_000);
  expect(seen).toEqual(["a 4000", "a 8000", "b 10000", "a 12000"]);
  expect(clock.now() - began).toBe(12_000);
});

test("the rest of a sleep after advance is real time", async () => {
  const clock = createMovableClock({ settle });
  const woken = vi.fn();
  void clock.sleep(600_000).then(woken);
  await clock.advance(599_000);
  await vi.advanceTimersByTimeAsync(999);
  expect(woken).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(woken).toHaveBeenCalled();
});

test("concurrent calls of advance run in order", async () => {
  const clock = createMovableClock({ settle });
  const began = clock.now();
  await Promise.all([clock.advance(1_000), clock.advance(2_000)]);
  expect(clock.now() - began).toBe(3_000);
});

test("sleeps longer than the maximum timer", async () => {
  const clock = createMovableClock({ settle });
  const woken = vi.fn();
  void clock.sleep(2 ** 32).then(woken);
  void clock.sleep(Number.POSITIVE_INFINITY).then(woken);
  await vi.advanceTimersByTimeAsync(2 ** 32 - 1);
  expect(woken).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(woken).toHaveBeenCalledOnce();
});

test("rejects an aborted sleep, and leaves no timer when stopped", async () => {
  const clock = createMovableClock({ settle });
  const stop = new AbortController();
  const sleeping = clock.sleep(1_000, stop.signal);
  stop.abort(new Error("aborted"));
  await expect(sleeping).rejects.toThrow("aborted");
  void clock.sleep(1_000);
  clock.stop();
  void clock.sleep(1_000);
  expect(vi.getTimerCount()).toBe(0);
});

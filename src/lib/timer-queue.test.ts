import fc from "fast-check";
import { expect, test } from "vitest";
import { rounds } from "../../test/support/fuzz/rounds.ts";
import type { Clock } from "./clock.ts";
import { createManualClock } from "./manual-clock.ts";
import { createTimerQueue } from "./timer-queue.ts";

function setUp({ gapMs = 10 } = {}) {
  const clock = createManualClock(1_000);
  const timers = createTimerQueue({ clock, gapMs });
  const fired: [string, number][] = [];
  const set = (atMs: number, name: string) => timers.at(atMs, () => fired.push([name, clock.now()]));
  return { clock, timers, fired, set };
}

test("fires in the order of deadlines, whatever the order of insertion", async () => {
  const { clock, fired, set } = setUp({ gapMs: 0 });
  const times = [7, 3, 9, 1, 8, 2, 6, 4, 5].map((at) => 1_000 + 100 * at);
  for (const at of times) set(at, String(at));
  await clock.advance(1_000);
  expect(fired).toEqual(times.sort((a, b) => a - b).map((at) => [String(at), at]));
  expect(clock.sleeping()).toBe(0);
});

test("close deadlines share a wake-up; a single one is on time", async () => {
  const { clock, fired, set } = setUp();
  for (const at of [1_100, 1_101, 1_104, 1_109, 1_111, 1_300]) set(at, String(at));
  await clock.advance(1_000);
  expect(fired).toEqual([
    ["1100", 1_100],
    ["1101", 1_110],
    ["1104", 1_110],
    ["1109", 1_110],
    ["1111", 1_120],
    ["1300", 1_300],
  ]);
});

test("an earlier deadline replaces the sleep, so that there is only one", async () => {
  const { clock, fired, set } = setUp();
  set(5_000, "late");
  set(2_000, "early");
  await clock.advance(0);
  expect(clock.sleeping()).toBe(1);
  await clock.advance(1_000);
  expect(fired).toEqual([["early", 2_000]]);
});

test("a callback may add a deadline", async () => {
  const clock = createManualClock(0);
  const timers = createTimerQueue({ clock, gapMs: 10 });
  const times: number[] = [];
  const onDue = () => {
    times.push(clock.now());
    timers.at(clock.now() + 1_000, onDue);
  };
  timers.at(500, onDue);
  await clock.advance(3_000);
  expect(times).toEqual([500, 1_500, 2_500]);
});

test("cancelled deadlines and those of a closed queue do not fire", async () => {
  const { clock, timers, fired, set } = setUp();
  set(1_100, "cancelled")();
  set(1_200, "fires");
  set(1_900, "closed");
  await clock.advance(500);
  timers.close();
  await clock.advance(1_000);
  expect(fired).toEqual([["fires", 1_200]]);
  expect(clock.sleeping()).toBe(0);
});

test("a deadline beyond the maximum of timers fires on time", async () => {
  const { clock, fired, set } = setUp();
  set(1_000 + 30 * 24 * 3_600_000, "next month");
  await clock.advance(30 * 24 * 3_600_000 - 1);
  expect(fired).toEqual([]);
  await clock.advance(1);
  expect(fired).toHaveLength(1);
});

test("a clock that is set back does not delay deadlines", async () => {
  const { clock: inner, ...rest } = setUp();
  let backMs = 0;
  const clock: Clock = { now: () => inner.now() - backMs, sleep: inner.sleep };
  const timers = createTimerQueue({ clock, gapMs: 10 });
  const fired: string[] = [];
  timers.at(11_000, () => fired.push("set before, seen by the timer"));
  await inner.advance(5_000);
  backMs = 3_600_000;
  await inner.advance(5_000);
  expect(fired).toEqual(["set before, seen by the timer"]);

  timers.at(clock.now() + 1_000, () => fired.push("set before, seen by the next"));
  backMs *= 2;
  timers.at(clock.now() + 500, () => fired.push("the next"));
  await inner.advance(1_000);
  expect(fired.slice(1)).toEqual(["the next", "set before, seen by the next"]);
  rest.timers.close();
});

test("calls functions at their times, in order, with a single sleep, except cancelled ones", async () => {
  const entry = fc.record({ atMs: fc.integer({ min: 1, max: 50 }), cancel: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 40 }), async (entries) => {
      const clock = createManualClock();
      const timers = createTimerQueue({ clock });
      const called: number[] = [];
      const cancels = entries.map(({ atMs }) =>
        timers.at(atMs, () => {
          expect(clock.now()).toBe(atMs);
          called.push(atMs);
        }),
      );
      entries.forEach(({ cancel }, i) => {
        if (cancel) cancels[i]?.();
      });
      const kept = entries.filter(({ cancel }) => !cancel).map(({ atMs }) => atMs);
      expect(timers.size()).toBe(kept.length);
      expect(clock.sleeping()).toBe(kept.length > 0 ? 1 : 0);
      await clock.advance(100);
      expect(called).toEqual(kept.sort((a, b) => a - b));
      expect(timers.size()).toBe(0);
    }),
    { numRuns: rounds(20) },
  );
});

test("a deadline at Infinity is never due", async () => {
  const clock = createManualClock();
  let called = false;
  createTimerQueue({ clock }).at(Number.POSITIVE_INFINITY, () => {
    called = true;
  });
  await clock.advance(40 * 24 * 3_600_000);
  expect(called).toBe(false);
});

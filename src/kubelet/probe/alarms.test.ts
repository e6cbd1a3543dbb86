import { expect, test } from "vitest";
import type { Clock } from "../../lib/clock.ts";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createAlarms } from "./alarms.ts";

function setUp({ gapMs = 10 } = {}) {
  const clock = createManualClock(1_000);
  const alarms = createAlarms({ clock, gapMs });
  const rung: [string, number][] = [];
  const set = (atMs: number, name: string) => alarms.set(atMs, () => rung.push([name, clock.now()]));
  return { clock, alarms, rung, set };
}

test("rings in order, each at its time, in whatever order they were set", async () => {
  const { clock, rung, set } = setUp({ gapMs: 0 });
  const times = [7, 3, 9, 1, 8, 2, 6, 4, 5].map((at) => 1_000 + 100 * at);
  for (const at of times) set(at, String(at));
  await clock.advance(1_000);
  expect(rung).toEqual(times.sort((a, b) => a - b).map((at) => [String(at), at]));
  expect(clock.sleeping()).toBe(0);
});

test("deadlines close together share a wake-up; a lone one is on time", async () => {
  const { clock, rung, set } = setUp();
  for (const at of [1_100, 1_101, 1_104, 1_109, 1_111, 1_300]) set(at, String(at));
  await clock.advance(1_000);
  expect(rung).toEqual([
    ["1100", 1_100],
    ["1101", 1_110],
    ["1104", 1_110],
    ["1109", 1_110],
    ["1111", 1_120],
    ["1300", 1_300],
  ]);
});

test("an earlier alarm wakes earlier, with one sleeper all the time", async () => {
  const { clock, rung, set } = setUp();
  set(5_000, "late");
  set(2_000, "early");
  await clock.advance(0);
  expect(clock.sleeping()).toBe(1);
  await clock.advance(1_000);
  expect(rung).toEqual([["early", 2_000]]);
});

test("what rings may set the next", async () => {
  const clock = createManualClock(0);
  const alarms = createAlarms({ clock, gapMs: 10 });
  const times: number[] = [];
  const ring = () => {
    times.push(clock.now());
    alarms.set(clock.now() + 1_000, ring);
  };
  alarms.set(500, ring);
  await clock.advance(3_000);
  expect(times).toEqual([500, 1_500, 2_500]);
});

test("cancelled and closed ones do not ring", async () => {
  const { clock, alarms, rung, set } = setUp();
  set(1_100, "cancelled").cancel();
  set(1_200, "rings");
  set(1_900, "closed");
  await clock.advance(500);
  alarms.close();
  await clock.advance(1_000);
  expect(rung).toEqual([["rings", 1_200]]);
  expect(clock.sleeping()).toBe(0);
});

test("a deadline further away than a timer reaches is kept", async () => {
  const { clock, rung, set } = setUp();
  set(1_000 + 30 * 24 * 3_600_000, "next month");
  await clock.advance(30 * 24 * 3_600_000 - 1);
  expect(rung).toEqual([]);
  await clock.advance(1);
  expect(rung).toHaveLength(1);
});

test("a system clock that is set back delays nothing", async () => {
  const { clock: inner, ...rest } = setUp();
  let backMs = 0;
  const clock: Clock = { now: () => inner.now() - backMs, sleep: inner.sleep };
  const alarms = createAlarms({ clock, gapMs: 10 });
  const rung: string[] = [];
  alarms.set(11_000, () => rung.push("set before, seen by the timer"));
  await inner.advance(5_000);
  backMs = 3_600_000;
  await inner.advance(5_000);
  expect(rung).toEqual(["set before, seen by the timer"]);

  alarms.set(clock.now() + 1_000, () => rung.push("set before, seen by the next"));
  backMs *= 2;
  alarms.set(clock.now() + 500, () => rung.push("the next"));
  await inner.advance(1_000);
  expect(rung.slice(1)).toEqual(["the next", "set before, seen by the next"]);
  rest.alarms.close();
});

import { expect, test } from "vitest";
import { createManualClock } from "./manual-clock.ts";

test("wakes sleepers in the order of their deadlines, each at its time", async () => {
  const clock = createManualClock(1_000);
  const woken: [string, number][] = [];
  void clock.sleep(20).then(() => woken.push(["late", clock.now()]));
  void clock.sleep(10).then(() => woken.push(["early", clock.now()]));
  await clock.advance(30);
  expect(woken).toEqual([
    ["early", 1_010],
    ["late", 1_020],
  ]);
  expect(clock.now()).toBe(1_030);
});

test("wakes a sleeper again that sleeps again during the advance", async () => {
  const clock = createManualClock();
  let ticks = 0;
  const done = (async () => {
    while (ticks < 3) {
      await clock.sleep(10);
      ticks++;
    }
  })();
  await clock.advance(25);
  expect(ticks).toBe(2);
  await clock.advance(5);
  await done;
  expect(ticks).toBe(3);
});

test("aborting rejects with the signal's reason and removes the sleeper", async () => {
  const clock = createManualClock();
  const abort = new AbortController();
  const asleep = clock.sleep(10, abort.signal);
  abort.abort(new Error("stopped"));
  await expect(asleep).rejects.toThrow("stopped");
  expect(clock.sleeping()).toBe(0);
  await expect(clock.sleep(10, abort.signal)).rejects.toThrow("stopped");
});

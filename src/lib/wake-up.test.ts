import { expect, test } from "vitest";
import { createManualClock } from "./manual-clock.ts";
import { createWakeUp } from "./wake-up.ts";

function setUp() {
  const clock = createManualClock();
  const stop = new AbortController();
  const wakeUp = createWakeUp();
  /** State of the wait. */
  function wait(atMs: number, taken = wakeUp.next()) {
    const state = { ended: "waits" as "waits" | "woken" | "stopped" };
    taken.orAt(atMs, { clock, signal: stop.signal }).then(
      () => Object.assign(state, { ended: "woken" }),
      () => Object.assign(state, { ended: "stopped" }),
    );
    return state;
  }
  return { clock, stop, wakeUp, wait };
}

test("wake ends every wait that was taken before it", async () => {
  const { clock, wakeUp, wait } = setUp();
  const waits = [wait(Infinity), wait(1_000)];
  await clock.advance(0);
  expect(waits.map(({ ended }) => ended)).toEqual(["waits", "waits"]);
  wakeUp.wake();
  await clock.advance(0);
  expect(waits.map(({ ended }) => ended)).toEqual(["woken", "woken"]);
  expect(clock.sleeping()).toBe(0);
});

test("a wake between next and the wait is not lost, and an earlier one has no effect", async () => {
  const { clock, wakeUp, wait } = setUp();
  wakeUp.wake();
  const taken = wakeUp.next();
  const early = wait(Infinity);
  wakeUp.wake();
  const late = wait(Infinity, taken);
  await clock.advance(0);
  expect([early.ended, late.ended]).toEqual(["woken", "woken"]);
  const quiet = wait(Infinity);
  await clock.advance(0);
  expect(quiet.ended).toBe("waits");
});

test.each([
  ["its time", 500, 500],
  ["a time that is over", -1, 0],
])("%s ends the wait", async (_, atMs, afterMs) => {
  const { clock, wait } = setUp();
  const waiting = wait(atMs);
  await clock.advance(afterMs - 1);
  if (afterMs > 0) expect(waiting.ended).toBe("waits");
  await clock.advance(1);
  expect(waiting.ended).toBe("woken");
});

test.each([Infinity, 500])("aborting ends a wait until %d with the signal reason", async (atMs) => {
  const { clock, stop, wait, wakeUp } = setUp();
  const waiting = wait(atMs);
  const taken = wakeUp.next();
  stop.abort(new Error("enough"));
  await clock.advance(0);
  expect(waiting.ended).toBe("stopped");
  wakeUp.wake();
  await expect(taken.orAt(atMs, { clock, signal: stop.signal })).rejects.toThrow("enough");
});

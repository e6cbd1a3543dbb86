import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { makePod } from "../containers/make-pod.fixture.ts";
import { createSyncLoop } from "./pod-workers.ts";

const minute = 60_000;
const late = "sync Loop took longer than expected";

function setUp({ syncFrequencyMs = minute } = {}) {
  const clock = createManualClock(0);
  const onStateChanged: string[] = [];
  let listedAt = 0;
  const workers = { list: () => [makePod()], onStateChanged: (uid: string) => void onStateChanged.push(uid) };
  const loop = createSyncLoop({ workers, observer: { listedAt: () => listedAt }, syncFrequencyMs, clock });
  return {
    loop,
    onStateChanged,
    clock,
    list: () => {
      listedAt = clock.now();
    },
  };
}

test("syncs every pod in each round", async () => {
  const { loop, onStateChanged, clock } = setUp();
  const stop = new AbortController();
  const running = loop.run(stop.signal);
  await clock.advance(minute);
  await clock.advance(minute);
  expect(onStateChanged).toEqual(["u-1", "u-1"]);
  stop.abort();
  await running;
});

test("is healthy while it completes rounds, and again after a delay", async () => {
  const { loop, clock, list } = setUp();
  const stop = new AbortController();
  const running = loop.run(stop.signal);
  for (let i = 0; i < 3; i++) await clock.advance(minute);
  expect(loop.problem()).toBeUndefined();
  // The runtime has listed nothing since 0: the rounds from the fourth minute on do not count.
  for (let i = 0; i < 5; i++) await clock.advance(minute);
  expect(loop.problem()).toBeUndefined();
  await clock.advance(minute);
  expect(loop.problem()).toBe(late);
  list();
  await clock.advance(minute);
  expect(loop.problem()).toBeUndefined();
  stop.abort();
  await running;
});

test.each([
  [minute, 5 * minute],
  [10 * minute, 20 * minute],
])("with a period of %d ms it is unhealthy after %d ms", async (syncFrequencyMs, timeoutMs) => {
  const { loop, clock } = setUp({ syncFrequencyMs });
  await clock.advance(timeoutMs);
  expect(loop.problem()).toBeUndefined();
  await clock.advance(1);
  expect(loop.problem()).toBe(late);
});

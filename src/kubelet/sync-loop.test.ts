import { expect, test } from "vitest";
import { createManualClock } from "../lib/manual-clock.ts";
import { makePod } from "./container/make-pod.fixture.ts";
import { createSyncLoop } from "./sync-loop.ts";

const minute = 60_000;
const late = "sync Loop took longer than expected";

function setUp({ syncFrequencyMs = minute } = {}) {
  const clock = createManualClock(0);
  const noticed: string[] = [];
  let listedAt = 0;
  const workers = { list: () => [makePod()], noticed: (uid: string) => void noticed.push(uid) };
  const loop = createSyncLoop({ workers, observer: { listedAt: () => listedAt }, syncFrequencyMs, clock });
  return {
    loop,
    noticed,
    clock,
    list: () => {
      listedAt = clock.now();
    },
  };
}

test("every pod is looked at in each round", async () => {
  const { loop, noticed, clock } = setUp();
  const stop = new AbortController();
  const running = loop.run(stop.signal);
  await clock.advance(minute);
  await clock.advance(minute);
  expect(noticed).toEqual(["u-1", "u-1"]);
  stop.abort();
  await running;
});

test("it is well as long as it comes round, and again when it does", async () => {
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
])("one that comes round every %d ms is late after %d", async (syncFrequencyMs, patienceMs) => {
  const { loop, clock } = setUp({ syncFrequencyMs });
  await clock.advance(patienceMs);
  expect(loop.problem()).toBeUndefined();
  await clock.advance(1);
  expect(loop.problem()).toBe(late);
});

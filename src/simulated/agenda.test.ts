import fc from "fast-check";
import { expect, test } from "vitest";
import { createManualClock } from "../lib/manual-clock.ts";
import { createAgenda } from "./agenda.ts";

test("actions run at their time, in order, with one sleep for all; cancelled ones do not", async () => {
  const entry = fc.record({ atMs: fc.integer({ min: 1, max: 50 }), cancel: fc.boolean() });
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { maxLength: 40 }), async (entries) => {
      const clock = createManualClock();
      const agenda = createAgenda(clock);
      const ran: number[] = [];
      const cancels = entries.map(({ atMs }) =>
        agenda.at(atMs, () => {
          expect(clock.now()).toBe(atMs);
          ran.push(atMs);
        }),
      );
      entries.forEach(({ cancel }, i) => {
        if (cancel) cancels[i]?.();
      });
      const kept = entries.filter(({ cancel }) => !cancel).map(({ atMs }) => atMs);
      expect(agenda.size()).toBe(kept.length);
      expect(clock.sleeping()).toBe(kept.length > 0 ? 1 : 0);
      await clock.advance(100);
      expect(ran).toEqual(kept.sort((a, b) => a - b));
      expect(agenda.size()).toBe(0);
    }),
    { numRuns: 50 },
  );
});

test("an action may plan another; closing ends the wait", async () => {
  const clock = createManualClock();
  const agenda = createAgenda(clock);
  const ran: number[] = [];
  const again = () => {
    ran.push(clock.now());
    agenda.at(clock.now() + 10, again);
  };
  agenda.at(10, again);
  await clock.advance(35);
  expect(ran).toEqual([10, 20, 30]);
  agenda.close();
  await clock.advance(0);
  expect(clock.sleeping()).toBe(0);
});

test("for ever is no timer that runs over", async () => {
  const clock = createManualClock();
  const agenda = createAgenda(clock);
  let ran = false;
  agenda.at(Number.POSITIVE_INFINITY, () => {
    ran = true;
  });
  await clock.advance(40 * 24 * 3_600_000);
  expect(ran).toBe(false);
});

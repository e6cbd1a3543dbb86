import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createMemoryReclaimer } from "./reclaim-memory.ts";

function setUp() {
  const clock = createManualClock();
  const stop = new AbortController();
  let collections = 0;
  const reclaimer = createMemoryReclaimer({ clock, signal: stop.signal, collect: () => collections++ });
  const close = (count: number) => {
    for (let i = 0; i < count; i++) reclaimer.watchClosed();
  };
  return { clock, stop, close, collections: () => collections };
}

test("collects once, two seconds after the last of many watches closed", async () => {
  const { clock, close, collections } = setUp();
  close(1_000);
  await clock.advance(1_500);
  close(1);
  await clock.advance(2_000);
  expect(collections()).toBe(0);
  await clock.advance(2_000);
  expect(collections()).toBe(1);
  await clock.advance(60_000);
  expect(collections()).toBe(1);
});

test("does not collect for few watches, nor after the server stopped", async () => {
  const { clock, stop, close, collections } = setUp();
  close(999);
  await clock.advance(60_000);
  expect(collections()).toBe(0);
  close(1);
  stop.abort(new Error("stopped"));
  await clock.advance(60_000);
  expect(collections()).toBe(0);
});

import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createReviewCache } from "./authenticate.ts";

function setUp() {
  const clock = createManualClock();
  const cache = createReviewCache<number>({ clock, capacity: 2, maxPending: 2 });
  let shared = 0;
  const get = (key: string, forMs = 1_000) => cache.get(key, async () => ({ value: ++shared, forMs }));
  return { clock, cache, get, shared: () => shared };
}

test("caches a result for its duration", async () => {
  const { clock, get } = setUp();
  expect([await get("a"), await get("a")]).toEqual([1, 1]);
  await clock.advance(999);
  expect(await get("a")).toBe(1);
  await clock.advance(1);
  expect(await get("a")).toBe(2);
});

test("concurrent requests share one review", async () => {
  const { get, shared } = setUp();
  expect(await Promise.all([get("a"), get("a"), get("b")])).toEqual([1, 1, 2]);
  expect(shared()).toBe(2);
});

test("evicts the least recently used result", async () => {
  const { get } = setUp();
  await get("a");
  await get("b");
  await get("a");
  await get("c");
  expect([await get("a"), await get("c")]).toEqual([1, 3]);
  expect(await get("b")).toBe(4);
});

test("does not cache failures, and limits concurrent reviews", async () => {
  const { cache, get } = setUp();
  const fail = () => Promise.reject(new Error("unavailable"));
  const failures = ["a", "b"].map((key) => expect(cache.get(key, fail)).rejects.toThrow("unavailable"));
  await expect(get("c")).rejects.toThrow("the limit of 2 concurrent reviews is reached");
  await Promise.all(failures);
  expect(await get("a")).toBe(1);
});

import { expect, test } from "vitest";
import { createManualClock } from "../../lib/manual-clock.ts";
import { createAnswerCache } from "./answer-cache.ts";

function setUp() {
  const clock = createManualClock();
  const cache = createAnswerCache<number>({ clock, capacity: 2, mostOpen: 2 });
  let asked = 0;
  const get = (key: string, forMs = 1_000) => cache.get(key, async () => ({ value: ++asked, forMs }));
  return { clock, cache, get, asked: () => asked };
}

test("an answer holds for its time", async () => {
  const { clock, get } = setUp();
  expect([await get("a"), await get("a")]).toEqual([1, 1]);
  await clock.advance(999);
  expect(await get("a")).toBe(1);
  await clock.advance(1);
  expect(await get("a")).toBe(2);
});

test("those who ask at the same time share a question", async () => {
  const { get, asked } = setUp();
  expect(await Promise.all([get("a"), get("a"), get("b")])).toEqual([1, 1, 2]);
  expect(asked()).toBe(2);
});

test("only so many are kept: the least used goes", async () => {
  const { get } = setUp();
  await get("a");
  await get("b");
  await get("a");
  await get("c");
  expect([await get("a"), await get("c")]).toEqual([1, 3]);
  expect(await get("b")).toBe(4);
});

test("a failure is not kept, and too many open questions are refused", async () => {
  const { cache, get } = setUp();
  const fail = () => Promise.reject(new Error("away"));
  const failures = ["a", "b"].map((key) => expect(cache.get(key, fail)).rejects.toThrow("away"));
  await expect(get("c")).rejects.toThrow(/too many/);
  await Promise.all(failures);
  expect(await get("a")).toBe(1);
});

import { expect, test } from "vitest";
import { createAsyncQueue } from "./async-queue.ts";
import { createManualClock } from "./manual-clock.ts";

test("a reader gets items in order, also those pushed while it waits", async () => {
  const clock = createManualClock();
  const queue = createAsyncQueue<number>({ capacity: 10 });
  const seen: [number, number][] = [];
  const reader = (async () => {
    for await (const item of queue) seen.push([item, clock.now()]);
  })();
  const writer = (async () => {
    queue.push(1);
    await clock.sleep(10);
    queue.push(2);
    queue.push(3);
    queue.end();
  })();
  await clock.advance(10);
  await Promise.all([reader, writer]);
  expect(seen).toEqual([
    [1, 0],
    [2, 10],
    [3, 10],
  ]);
});

test("a full queue refuses, and takes again once read", async () => {
  const queue = createAsyncQueue<number>({ capacity: 2 });
  expect([queue.push(1), queue.push(2), queue.push(3)]).toEqual([true, true, false]);
  const reader = queue[Symbol.asyncIterator]();
  expect(await reader.next()).toEqual({ done: false, value: 1 });
  expect(queue.push(4)).toBe(true);
  expect(queue.size()).toBe(2);
});

test("end lets the reader finish what is queued and refuses more", async () => {
  const queue = createAsyncQueue<string>({ capacity: 5 });
  queue.push("a");
  queue.end();
  expect(queue.push("b")).toBe(false);
  const seen: string[] = [];
  for await (const item of queue) seen.push(item);
  expect(seen).toEqual(["a"]);
});

test("fail reaches the reader before what is queued", async () => {
  const queue = createAsyncQueue<string>({ capacity: 5 });
  queue.push("a");
  queue.fail(new Error("cut"));
  await expect(queue[Symbol.asyncIterator]().next()).rejects.toThrow("cut");
});

test("undefined is an item like any other", async () => {
  const queue = createAsyncQueue<undefined>({ capacity: 5 });
  queue.push(undefined);
  queue.end();
  let count = 0;
  for await (const _item of queue) count++;
  expect(count).toBe(1);
});

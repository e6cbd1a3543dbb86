import { expect, test } from "vitest";
import { createAsyncQueue, createEventHub } from "./async-queue.ts";
import { createManualClock } from "./manual-clock.ts";

test("yields items in order, including those pushed while the reader waits", async () => {
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

test("rejects items when full, and accepts more after a read", async () => {
  const queue = createAsyncQueue<number>({ capacity: 2 });
  expect([queue.push(1), queue.push(2), queue.push(3)]).toEqual([true, true, false]);
  const reader = queue[Symbol.asyncIterator]();
  expect(await reader.next()).toEqual({ done: false, value: 1 });
  expect(queue.push(4)).toBe(true);
  expect(queue.size()).toBe(2);
});

test("end finishes after the queued items and rejects more", async () => {
  const queue = createAsyncQueue<string>({ capacity: 5 });
  queue.push("a");
  queue.end();
  expect(queue.push("b")).toBe(false);
  const seen: string[] = [];
  for await (const item of queue) seen.push(item);
  expect(seen).toEqual(["a"]);
});

test("fail reaches the reader before queued items", async () => {
  const queue = createAsyncQueue<string>({ capacity: 5 });
  queue.push("a");
  queue.fail(new Error("cut"));
  await expect(queue[Symbol.asyncIterator]().next()).rejects.toThrow("cut");
});

test("undefined is a valid item", async () => {
  const queue = createAsyncQueue<undefined>({ capacity: 5 });
  queue.push(undefined);
  queue.end();
  let count = 0;
  for await (const _item of queue) count++;
  expect(count).toBe(1);
});

const overflow = () => new Error("too slow");

async function readAll<T>(events: AsyncIterable<T>): Promise<T[]> {
  const seen: T[] = [];
  for await (const event of events) seen.push(event);
  return seen;
}

test("delivers events to a subscriber in order until it unsubscribes", async () => {
  const hub = createEventHub<number>({ capacity: 10, overflow });
  const leaving = new AbortController();
  hub.publish(0);
  expect(hub.hasSubscribers()).toBe(false);
  const events = hub.subscribe(leaving.signal);
  expect(hub.hasSubscribers()).toBe(true);
  hub.publish(1);
  hub.publish(2);
  leaving.abort();
  hub.publish(3);
  expect(hub.hasSubscribers()).toBe(false);
  expect(await readAll(events)).toEqual([1, 2]);
});

test("disconnects only the subscriber that falls behind", async () => {
  const hub = createEventHub<number>({ capacity: 2, overflow });
  const slow = hub.subscribe(new AbortController().signal);
  for (let i = 0; i < 3; i++) hub.publish(i);
  const other = hub.subscribe(new AbortController().signal);
  hub.publish(3);
  hub.close();
  await expect(readAll(slow)).rejects.toThrow("too slow");
  expect(await readAll(other)).toEqual([3]);
});

test("delivers nothing to an aborted subscriber", async () => {
  const hub = createEventHub<number>({ capacity: 2, overflow });
  expect(await readAll(hub.subscribe(AbortSignal.abort()))).toEqual([]);
  expect(hub.hasSubscribers()).toBe(false);
});

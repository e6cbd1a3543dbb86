import { expect, test } from "vitest";
import { createEventHub } from "./event-hub.ts";

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

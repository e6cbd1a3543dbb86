import { expect, test } from "vitest";
import { createSubscribers } from "./subscribers.ts";

function setUp({ capacity = 2, maxSubscribers = 2, maxBufferedLength = 1_000 } = {}) {
  let needed = 0;
  let snapshots = 0;
  const subscribers = createSubscribers({
    capacity,
    maxSubscribers,
    maxBufferedLength,
    onSnapshotNeeded: () => needed++,
  });
  const snapshot = () => `snapshot ${++snapshots}`;
  return {
    subscribers,
    publish: (change?: string) => subscribers.publish({ change, snapshot }),
    needed: () => needed,
    snapshots: () => snapshots,
  };
}

/** Subscriber that reads on demand. */
function subscribe(subscribers: ReturnType<typeof setUp>["subscribers"]) {
  const closed = new AbortController();
  let disconnected = false;
  const messages = subscribers.subscribe(closed.signal, () => {
    disconnected = true;
  });
  const iterator = messages?.[Symbol.asyncIterator]();
  return {
    isAccepted: messages !== undefined,
    read: async () => (await iterator?.next())?.value,
    leave: () => closed.abort(),
    isDisconnected: () => disconnected,
  };
}

test("sends one shared snapshot first, then every change", async () => {
  const { subscribers, publish, snapshots } = setUp({ capacity: 3 });
  const [a, b] = [subscribe(subscribers), subscribe(subscribers)];
  publish("contained in the snapshot");
  publish("1");
  publish();
  publish("2");
  expect([await a.read(), await a.read(), await a.read()]).toEqual(["snapshot 1", "1", "2"]);
  expect(await b.read()).toBe("snapshot 1");
  expect(snapshots()).toBe(1);
});

test("delivers the next message to a waiting reader", async () => {
  const { subscribers, publish } = setUp();
  const a = subscribe(subscribers);
  const reading = a.read();
  publish();
  expect(await reading).toBe("snapshot 1");
});

test("sends a new snapshot to a subscriber that fell behind", async () => {
  const { subscribers, publish, needed } = setUp();
  const slow = subscribe(subscribers);
  for (const change of ["1", "2", "3", "4", "5"]) publish(change);
  const before = needed();
  const reading = slow.read();
  await new Promise((resolve) => setImmediate(resolve));
  expect(needed()).toBe(before + 1);
  publish("6");
  expect(await reading).toBe("snapshot 2");
  publish("7");
  expect(await slow.read()).toBe("7");
});

test("limits the number of subscribers and frees the place of one that leaves", async () => {
  const { subscribers } = setUp();
  const [a, b, c] = [subscribe(subscribers), subscribe(subscribers), subscribe(subscribers)];
  expect([a.isAccepted, b.isAccepted, c.isAccepted, subscribers.size()]).toEqual([true, true, false, 2]);
  const reading = a.read();
  a.leave();
  b.leave();
  expect(await reading).toBeUndefined();
  expect(subscribers.size()).toBe(0);
  expect(subscribe(subscribers).isAccepted).toBe(true);
});

test("counts a buffered message once and releases it when it is read or its reader leaves", async () => {
  const { subscribers, publish } = setUp();
  const [a, b] = [subscribe(subscribers), subscribe(subscribers)];
  publish();
  expect(subscribers.bufferedLength()).toBe("snapshot 1".length);
  publish("one");
  expect(subscribers.bufferedLength()).toBe("snapshot 1one".length);
  await a.read();
  await a.read();
  b.leave();
  expect(subscribers.bufferedLength()).toBe("one".length);
  void a.read();
  await Promise.resolve();
  expect(subscribers.bufferedLength()).toBe(0);
});

test("disconnects the subscriber that reads the oldest message when the buffer is full", async () => {
  const { subscribers, publish } = setUp({ capacity: 10, maxBufferedLength: 25, maxSubscribers: 3 });
  const stalled = subscribe(subscribers);
  publish();
  await stalled.read();
  const reader = subscribe(subscribers);
  publish();
  await reader.read();
  publish("0123456789");
  expect(stalled.isDisconnected()).toBe(true);
  expect(reader.isDisconnected()).toBe(false);
  expect(subscribers.size()).toBe(1);
  expect(await reader.read()).toBe("0123456789");
  expect(await stalled.read()).toBeUndefined();
});

test("delivers a single message that exceeds the limit", async () => {
  const { subscribers, publish } = setUp({ maxBufferedLength: 1 });
  const a = subscribe(subscribers);
  publish();
  expect(await a.read()).toBe("snapshot 1");
  expect(a.isDisconnected()).toBe(false);
});

test("does not disconnect a subscriber that has not begun to read the oldest message", async () => {
  const { subscribers, publish } = setUp({ capacity: 10, maxBufferedLength: 12 });
  const late = subscribe(subscribers);
  publish();
  publish("more than two");
  expect(late.isDisconnected()).toBe(false);
  expect(subscribers.bufferedLength()).toBe(0);
  const reading = late.read();
  await new Promise((resolve) => setImmediate(resolve));
  publish();
  expect(await reading).toBe("snapshot 2");
});

import { expect, test } from "vitest";
import { createAudience } from "./audience.ts";

function setUp({ capacity = 2, mostFollowers = 2, mostHeldLength = 1_000 } = {}) {
  let wanting = 0;
  let snapshots = 0;
  const audience = createAudience({
    capacity,
    mostFollowers,
    mostHeldLength,
    onWanting: () => wanting++,
  });
  const snapshot = () => `snapshot ${++snapshots}`;
  return {
    audience,
    publish: (change?: string) => audience.publish({ change, snapshot }),
    wanting: () => wanting,
    snapshots: () => snapshots,
  };
}

/** Reads when told to. */
function follow(audience: ReturnType<typeof setUp>["audience"]) {
  const gone = new AbortController();
  let dismissed = false;
  const messages = audience.follow(gone.signal, () => {
    dismissed = true;
  });
  const iterator = messages?.[Symbol.asyncIterator]();
  return {
    isIn: messages !== undefined,
    read: async () => (await iterator?.next())?.value,
    leave: () => gone.abort(),
    isDismissed: () => dismissed,
  };
}

test("a snapshot first, then every change; those who come together share one", async () => {
  const { audience, publish, snapshots } = setUp({ capacity: 3 });
  const [a, b] = [follow(audience), follow(audience)];
  publish("never seen alone: it is in the snapshot");
  publish("1");
  publish();
  publish("2");
  expect([await a.read(), await a.read(), await a.read()]).toEqual(["snapshot 1", "1", "2"]);
  expect(await b.read()).toBe("snapshot 1");
  expect(snapshots()).toBe(1);
});

test("who reads when there is nothing gets what comes", async () => {
  const { audience, publish } = setUp();
  const a = follow(audience);
  const reading = a.read();
  publish();
  expect(await reading).toBe("snapshot 1");
});

test("who is slow loses what waits for it, and gets a snapshot when it reads again", async () => {
  const { audience, publish, wanting } = setUp();
  const slow = follow(audience);
  for (const change of ["1", "2", "3", "4", "5"]) publish(change);
  const before = wanting();
  const reading = slow.read();
  await new Promise((resolve) => setImmediate(resolve));
  expect(wanting()).toBe(before + 1);
  publish("6");
  expect(await reading).toBe("snapshot 2");
  publish("7");
  expect(await slow.read()).toBe("7");
});

test("only so many get in, and one that leaves makes room, also if it never read", async () => {
  const { audience } = setUp();
  const [a, b, c] = [follow(audience), follow(audience), follow(audience)];
  expect([a.isIn, b.isIn, c.isIn, audience.size()]).toEqual([true, true, false, 2]);
  const reading = a.read();
  a.leave();
  b.leave();
  expect(await reading).toBeUndefined();
  expect(audience.size()).toBe(0);
  expect(follow(audience).isIn).toBe(true);
});

test("what is held is counted once for all, and given back when it is read or its reader leaves", async () => {
  const { audience, publish } = setUp();
  const [a, b] = [follow(audience), follow(audience)];
  publish();
  expect(audience.heldLength()).toBe("snapshot 1".length);
  publish("one");
  expect(audience.heldLength()).toBe("snapshot 1one".length);
  await a.read();
  await a.read();
  b.leave();
  expect(audience.heldLength()).toBe("one".length);
  void a.read();
  await Promise.resolve();
  expect(audience.heldLength()).toBe(0);
});

test("when all together hold too much, who dawdles over the oldest is dismissed; who reads stays", async () => {
  const { audience, publish } = setUp({ capacity: 10, mostHeldLength: 25, mostFollowers: 3 });
  const stalled = follow(audience);
  publish();
  await stalled.read();
  const reader = follow(audience);
  publish();
  await reader.read();
  publish("0123456789");
  expect(stalled.isDismissed()).toBe(true);
  expect(reader.isDismissed()).toBe(false);
  expect(audience.size()).toBe(1);
  expect(await reader.read()).toBe("0123456789");
  expect(await stalled.read()).toBeUndefined();
});

test("one message that is too large by itself reaches its reader all the same", async () => {
  const { audience, publish } = setUp({ mostHeldLength: 1 });
  const a = follow(audience);
  publish();
  expect(await a.read()).toBe("snapshot 1");
  expect(a.isDismissed()).toBe(false);
});

test("who waits with the oldest, and has not begun it, falls behind and is not dismissed", async () => {
  const { audience, publish } = setUp({ capacity: 10, mostHeldLength: 12 });
  const late = follow(audience);
  publish();
  publish("more than two");
  expect(late.isDismissed()).toBe(false);
  expect(audience.heldLength()).toBe(0);
  const reading = late.read();
  await new Promise((resolve) => setImmediate(resolve));
  publish();
  expect(await reading).toBe("snapshot 2");
});

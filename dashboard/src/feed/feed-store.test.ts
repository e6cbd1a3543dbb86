import { expect, test } from "vitest";
import type { FeedMessage } from "../../../src/monitor/feed/feed-message.ts";
import { createFeedStore, followServer, serverNow } from "./feed-store.ts";

const nodes = (count: number): FeedMessage => ({
  kind: "change",
  now: 1_000,
  nodes: Array.from({ length: count }, () => ({
    name: "n",
    ready: true,
    pods: 0,
    starting: 0,
    runtime: "",
    kubelet: "",
  })),
});

function store() {
  const flushes: (() => void)[] = [];
  const local = { ms: 0 };
  const feed = createFeedStore({ localMs: () => local.ms, schedule: (flush) => flushes.push(flush) });
  return { feed, flushes, local };
}

test("notifies subscribers once for many messages", () => {
  const { feed, flushes } = store();
  let notifications = 0;
  feed.subscribe(() => notifications++);
  feed.push(nodes(1));
  feed.push(nodes(2));
  expect(feed.state().nodes).toHaveLength(0);
  expect(flushes).toHaveLength(1);
  flushes[0]?.();
  expect(feed.state().nodes).toHaveLength(2);
  expect(notifications).toBe(1);
  feed.push(nodes(3));
  expect(flushes).toHaveLength(2);
});

test("stops the clock while the connection is lost", () => {
  const { feed, local } = store();
  expect(feed.nowMs()).toBe(0);
  feed.push(nodes(1));
  feed.connect({ kind: "live" });
  local.ms = 700;
  expect(feed.nowMs()).toBe(1_700);
  feed.connect({ kind: "lost", sinceMs: 700, retryAtMs: 900, isLoggedOut: false, reason: "" });
  local.ms = 5_000;
  expect(feed.nowMs()).toBe(1_700);
});

const clock = { serverMs: 1_000_000, localMs: 50 };

test("continues from the time of the server", () => {
  expect(serverNow(followServer(undefined, 1_000_000, 50), 1_050)).toBe(1_001_000);
});

test.each([
  { name: "ignores a delayed message", serverMs: 1_000_500, localMs: 1_050, now: 1_001_000 },
  { name: "advances with a faster message", serverMs: 1_001_200, localMs: 1_050, now: 1_001_200 },
  { name: "follows a clock that was set back", serverMs: 900_000, localMs: 1_050, now: 900_000 },
])("$name", ({ serverMs, localMs, now }) => {
  expect(serverNow(followServer(clock, serverMs, localMs), localMs)).toBe(now);
});

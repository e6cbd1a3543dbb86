import { expect, test } from "vitest";
import type { FeedMessage } from "../../../src/monitor/feed/feed-message.ts";
import { createFeedStore } from "./feed-store.ts";

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

test("many messages are one change of the page", () => {
  const { feed, flushes } = store();
  let told = 0;
  feed.subscribe(() => told++);
  feed.push(nodes(1));
  feed.push(nodes(2));
  expect(feed.state().nodes).toHaveLength(0);
  expect(flushes).toHaveLength(1);
  flushes[0]?.();
  expect(feed.state().nodes).toHaveLength(2);
  expect(told).toBe(1);
  feed.push(nodes(3));
  expect(flushes).toHaveLength(2);
});

test("the clock runs while the server is heard, and stands when the connection is lost", () => {
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

import { expect, test } from "vitest";
import type { ContainerPull } from "../../lib/image/pull-progress.ts";
import { createPullTracker } from "./pull-tracker.ts";

const pull = (image: string, offset = 0): ContainerPull => ({
  image,
  container: "web",
  startedAt: "2030-01-01T00:00:00.000Z",
  offset,
  total: 10,
  layers: [],
});
const settle = () => new Promise((resolve) => setImmediate(resolve));

test("lists the pulls of a pod while they run", () => {
  const tracker = createPullTracker();
  const first = tracker.start("pod", pull("a"));
  const second = tracker.start("pod", pull("b"));
  tracker.start("other", pull("c"));
  first.update({ offset: 5, total: 10, layers: [] });
  expect(tracker.progress("pod")).toEqual([pull("a", 5), pull("b")]);
  first.remove();
  first.remove();
  expect(tracker.progress("pod")).toEqual([pull("b")]);
  second.remove();
  expect(tracker.progress("pod")).toEqual([]);
});

test("a pull that is no longer queued or one of several is not listed as such", () => {
  const tracker = createPullTracker();
  const tracked = tracker.start("pod", pull("a"));
  tracked.update({ offset: 0, total: 10, layers: [], queued: true, oneOf: ["a", "b"] });
  expect(tracker.progress("pod")).toEqual([{ ...pull("a"), queued: true, oneOf: ["a", "b"] }]);
  tracked.update({ offset: 5, total: 10, layers: [] });
  expect(tracker.progress("pod")).toEqual([pull("a", 5)]);
});

test("a subscriber gets a snapshot, then each change, until its signal aborts", async () => {
  const tracker = createPullTracker();
  const stop = new AbortController();
  const seen: (readonly ContainerPull[])[] = [];
  const following = (async () => {
    for await (const now of tracker.follow("pod", stop.signal)) seen.push(now);
  })();
  await settle();
  const tracked = tracker.start("pod", pull("a"));
  tracker.start("other", pull("x"));
  await settle();
  // Two changes before the next read yield the newer state only.
  tracked.update({ offset: 3, total: 10, layers: [] });
  tracked.update({ offset: 4, total: 10, layers: [] });
  await settle();
  tracked.remove();
  await settle();
  stop.abort();
  await following;
  expect(seen).toEqual([[], [pull("a")], [pull("a", 4)], []]);
});

test("a subscriber whose signal is already aborted gets nothing", async () => {
  const tracker = createPullTracker();
  for await (const now of tracker.follow("pod", AbortSignal.abort())) expect(now).toBe("never");
});

import { expect, test } from "vitest";
import { createRecentEvents } from "./view-pod.ts";

const eventAt = (second: number, count = 1) => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { uid: `e${second}` },
  involvedObject: {},
  lastTimestamp: new Date(second * 1_000).toISOString(),
  count,
});
const seconds = (views: readonly { uid: string }[]) => views.map(({ uid }) => Number(uid.slice(1)));

test("keeps the newest events in any order of arrival", () => {
  const events = createRecentEvents(3);
  for (let second = 50; second > 0; second--) events.add(eventAt(second));
  expect(seconds(events.list())).toEqual([50, 49, 48]);
  expect(seconds(events.takeChanged())).toEqual([50, 49, 48]);
  expect(events.takeChanged()).toEqual([]);
});

test("returns added and changed events, but none that are too old", () => {
  const events = createRecentEvents(3);
  for (const second of [1, 2, 3]) events.add(eventAt(second));
  events.takeChanged();
  events.add(eventAt(0));
  events.add(eventAt(2, 5));
  events.add(eventAt(4));
  expect(events.takeChanged()).toMatchObject([{ uid: "e4" }, { uid: "e2", count: 5 }]);
  expect(seconds(events.list())).toEqual([4, 3, 2]);
});

import { expect, test } from "vitest";
import type { Event } from "../api/meta/objects.ts";
import { pullsFromEvents } from "./pulls-from-events.ts";

const event = (reason: string, message: string, second: number, container = "web"): Event => ({
  apiVersion: "v1",
  kind: "Event",
  metadata: { name: `${reason}-${second}` },
  involvedObject: { kind: "Pod", name: "web", fieldPath: `spec.containers{${container}}` },
  reason,
  message,
  lastTimestamp: new Date(second * 1_000).toISOString(),
});
const begins = event("Pulling", 'Pulling image "app:1"', 10);
const reports = (text: string, second: number) =>
  event("Pulling", `Pulling Container image app:1: ${text}`, second);
const pull = (offset: number, total: number) => ({
  container: "web",
  image: "app:1",
  startedAt: "1970-01-01T00:00:10.000Z",
  offset,
  total,
  layers: [],
});
const gib = 2 ** 30;

test.each<[string, readonly Event[], unknown]>([
  ["no progress yet", [begins], []],
  ["progress", [begins, reports("1.5Gi of 4Gi", 40)], [pull(1.5 * gib, 4 * gib)]],
  [
    "the last progress",
    [reports("2Gi of 4Gi", 70), begins, reports("1Gi of 4Gi", 40)],
    [pull(2 * gib, 4 * gib)],
  ],
  ["bytes", [begins, reports("512 of 1023", 40)], [pull(512, 1_023)]],
  ["the pull has ended", [begins, reports("1Gi of 4Gi", 40), event("Pulled", "Successfully pulled", 50)], []],
  ["the pull has failed", [begins, reports("1Gi of 4Gi", 40), event("Failed", "Failed to pull", 50)], []],
  [
    "the pull is stalled",
    [begins, reports("1Gi of 4Gi", 40), event("PullStalled", "no progress", 90)],
    [pull(gib, 4 * gib)],
  ],
  ["progress of an earlier pull", [reports("1Gi of 4Gi", 5), begins], []],
  ["another message", [begins, reports("all of it", 40)], []],
])("3542-14 pulls from events: %s", (_name, events, expected) => {
  expect(pullsFromEvents(events)).toEqual(expected);
});

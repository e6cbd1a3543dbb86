import { expect, test } from "vitest";
import { convertEventToCore, convertEventToNew, coreEventField } from "./convert-event.ts";

const core = {
  apiVersion: "v1",
  kind: "Event",
  metadata: { name: "a", namespace: "default" },
  involvedObject: { kind: "Pod", name: "web" },
  message: "Started container",
  reason: "Started",
  type: "Normal",
  reportingComponent: "kubelet",
  reportingInstance: "node-1",
  source: { component: "kubelet", host: "node-1" },
  firstTimestamp: "2026-01-02T03:04:05Z",
  lastTimestamp: "2026-01-02T03:04:06Z",
  count: 2,
  series: { count: 2, lastObservedTime: "2026-01-02T03:04:06.000000Z" },
};
const newer = {
  apiVersion: "events.k8s.io/v1",
  kind: "Event",
  metadata: { name: "a", namespace: "default" },
  regarding: { kind: "Pod", name: "web" },
  note: "Started container",
  reason: "Started",
  type: "Normal",
  reportingController: "kubelet",
  reportingInstance: "node-1",
  deprecatedSource: { component: "kubelet", host: "node-1" },
  deprecatedFirstTimestamp: "2026-01-02T03:04:05Z",
  deprecatedLastTimestamp: "2026-01-02T03:04:06Z",
  deprecatedCount: 2,
  series: { count: 2, lastObservedTime: "2026-01-02T03:04:06.000000Z" },
};

test("converts an event between both groups", () => {
  expect(convertEventToNew(core)).toEqual(newer);
  expect(convertEventToCore({ ...newer, eventTime: "" })).toEqual({ ...core, eventTime: "" });
});

test.each([
  ["regarding.name", "involvedObject.name"],
  ["reportingController", "reportingComponent"],
  ["reason", "reason"],
  ["metadata.name", "metadata.name"],
])("a selector of %s is one of %s", (field, expected) => {
  expect(coreEventField(field)).toBe(expected);
});

import { expect, test } from "vitest";
import { cellsOf } from "../../cells.fixture.ts";
import { useStrategy } from "../../strategy.fixture.ts";

test.each<[string, object, string[]]>([
  [
    "v1",
    { involvedObject: { namespace: "other" } },
    ['involvedObject.namespace: Invalid value: "other": does not match event.namespace'],
  ],
  [
    "events.k8s.io/v1",
    { involvedObject: { namespace: "default" }, count: 2, series: { count: 1 } },
    [
      'series.count: Invalid value: "": should be at least 2',
      "series.lastObservedTime: Required value",
      "eventTime: Required value",
      'type: Invalid value: "": has invalid value: ',
      'count: Invalid value: "": needs to be unset',
    ],
  ],
])("create %s %j", (apiVersion, fields, expected) => {
  expect(useStrategy(apiVersion, "Event").createErrors(fields)).toEqual(expected);
});

const involvedObject = { kind: "Pod", name: "web", fieldPath: "spec.containers{a}" };
const old = "2026-01-01T00:30:00Z";
const recent = "2026-01-01T00:59:30Z";

test.each([
  [
    "core, repeated",
    {
      involvedObject,
      type: "Normal",
      reason: "Pulled",
      message: " done\n",
      firstTimestamp: old,
      lastTimestamp: recent,
      count: 3,
      source: { component: "kubelet", host: "n1" },
    },
    ["30s", "Normal", "Pulled", "pod/web", "spec.containers{a}", "kubelet, n1", "done", "30m", 3, "x"],
  ],
  [
    "with the newer fields in the core API",
    {
      involvedObject: { kind: "Node" },
      eventTime: old,
      firstTimestamp: null,
      lastTimestamp: null,
      reportingComponent: "scheduler",
      reportingInstance: "",
      source: {},
    },
    ["30m", "", "", "node", "", "scheduler", "", "30m", 1, "x"],
  ],
  [
    "a series",
    { involvedObject, eventTime: old, series: { count: 5, lastObservedTime: recent } },
    ["30s", "", "", "pod/web", "spec.containers{a}", "", "", "30m", 5, "x"],
  ],
  [
    "of events.k8s.io",
    {
      regarding: involvedObject,
      note: "hello",
      eventTime: old,
      reportingController: "c",
      reportingInstance: "i",
    },
    ["30m", "", "", "pod/web", "spec.containers{a}", "c, i", "hello", "30m", 1, "x"],
  ],
])("%s", (_, fields, expected) => {
  expect(cellsOf("Event", fields)).toEqual(expected);
});

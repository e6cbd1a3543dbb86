import { expect, test } from "vitest";
import { useStrategy } from "./strategy.fixture.ts";

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

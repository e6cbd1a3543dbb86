import { expect, test } from "vitest";
import { useStrategy } from "../../strategy.fixture.ts";

const { make, createErrors, updateErrors } = useStrategy("v1", "LimitRange");

const withItem = (item: object) => ({ spec: { limits: [item] } });

test.each<[string, object, object]>([
  [
    "limits default to the maximum, requests to the limit",
    { type: "Container", max: { cpu: "2" }, default: { memory: "1Gi" } },
    {
      type: "Container",
      max: { cpu: "2" },
      default: { cpu: "2", memory: "1Gi" },
      defaultRequest: { cpu: "2", memory: "1Gi" },
    },
  ],
  [
    "requests without a limit default to the minimum",
    { type: "Container", min: { cpu: "1", memory: "1" }, default: { cpu: "3" } },
    {
      type: "Container",
      min: { cpu: "1", memory: "1" },
      default: { cpu: "3" },
      defaultRequest: { cpu: "3", memory: "1" },
    },
  ],
  ["pods have no defaults", { type: "Pod", max: { cpu: "2" } }, { type: "Pod", max: { cpu: "2" } }],
])("%s", (_, item, expected) => {
  expect(make(withItem(item))).toMatchObject(withItem(expected));
});

test.each<[string, object, string[]]>([
  ["a valid item", { type: "Container", min: { cpu: "1" }, max: { cpu: "2", "a.com/gpu": "1" } }, []],
  ["a qualified type", { type: "example.com/Disk", max: { storage: "1" } }, []],
  [
    "an unknown type",
    { type: "Disk" },
    ['spec.limits[0].type: Invalid value: "Disk": must be a standard limit type or fully qualified'],
  ],
  [
    "an unknown resource",
    { type: "Container", max: { pods: "1" } },
    ["max", "default", "defaultRequest"].map(
      (field) =>
        `spec.limits[0].${field}[pods]: Invalid value: "pods": must be a standard resource for containers`,
    ),
  ],
  [
    "defaults of a pod",
    { type: "Pod", default: { cpu: "1" }, defaultRequest: { cpu: "1" } },
    [
      "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
      "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
    ],
  ],
  [
    "a claim without storage",
    { type: "PersistentVolumeClaim" },
    [
      "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but neither was provided",
    ],
  ],
  [
    "a minimum above all others",
    {
      type: "Container",
      min: { cpu: "4" },
      max: { cpu: "3" },
      default: { cpu: "2" },
      defaultRequest: { cpu: "1" },
    },
    [
      'spec.limits[0].min[cpu]: Invalid value: "4": min value 4 is greater than max value 3',
      'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 4 is greater than default request value 1',
      'spec.limits[0].default[cpu]: Invalid value: "4": min value 4 is greater than default value 2',
    ],
  ],
  [
    "defaults above the maximum",
    { type: "Container", max: { cpu: "1" }, default: { cpu: "2" }, defaultRequest: { cpu: "3" } },
    [
      'spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater than max value 1',
      'spec.limits[0].defaultRequest[cpu]: Invalid value: "3": default request value 3 is greater than default limit value 2',
      'spec.limits[0].default[cpu]: Invalid value: "1": default value 2 is greater than max value 1',
    ],
  ],
  [
    "a ratio below 1",
    { type: "Pod", maxLimitRequestRatio: { cpu: "800m" } },
    ['spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "800m": ratio 800m is less than 1'],
  ],
  [
    "a ratio that the bounds make impossible",
    { type: "Pod", min: { cpu: "3" }, max: { cpu: "10" }, maxLimitRequestRatio: { cpu: "4" } },
    [
      'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "4": ratio 4 is greater than max/min = 3.333333',
    ],
  ],
  [
    "different defaults of huge pages",
    { type: "Container", default: { "hugepages-2Mi": "4Mi" }, defaultRequest: { "hugepages-2Mi": "2Mi" } },
    [
      'spec.limits[0].defaultRequest[hugepages-2Mi]: Invalid value: "2Mi": default value 4Mi must equal to defaultRequest value 2Mi in hugepages-2Mi',
    ],
  ],
])("%s", (_, item, expected) => {
  expect(createErrors(withItem(item))).toEqual(expected);
  expect(updateErrors({}, withItem(item))).toEqual(expected);
});

test("rejects a type that is listed twice", () => {
  expect(createErrors({ spec: { limits: [{ type: "Pod" }, { type: "Pod" }] } })).toEqual([
    'spec.limits[1].type: Duplicate value: "Pod"',
  ]);
});

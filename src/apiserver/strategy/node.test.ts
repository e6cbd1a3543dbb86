import { expect, test } from "vitest";
import { useStrategy } from "./strategy.fixture.ts";

const { createErrors, updateErrors } = useStrategy("v1", "Node");

test.each<[object, string[]]>([
  [{ spec: { podCIDRs: ["10.0.0.0/24", "fd00::/64"] } }, []],
  [
    { spec: { podCIDRs: ["10.0.0.0/24", "10.0.1.0/24"] } },
    [
      'spec.podCIDRs: Invalid value: ["10.0.0.0/24","10.0.1.0/24"]: may specify no more than one CIDR for each IP family',
    ],
  ],
  [
    {
      spec: {
        taints: [
          { key: "a", effect: "NoExecute" },
          { key: "a", effect: "NoExecute" },
        ],
      },
    },
    [
      'metadata.taints[1]: Duplicate value: {"key":"a","effect":"NoExecute"}: taints must be unique by key and effect pair',
    ],
  ],
  [
    { spec: { taints: [{ key: "a", effect: "Never" }] } },
    [
      'metadata.taints[0].effect: Unsupported value: "Never": supported values: "NoSchedule", "PreferNoSchedule", "NoExecute"',
    ],
  ],
  [
    { status: { capacity: { pods: "1500m" } } },
    [
      'status.capacity.pods: Invalid value: "1500m": must be an integer',
      'status.allocatable.pods: Invalid value: "1500m": must be an integer',
    ],
  ],
])("create %j", (fields, expected) => {
  expect(createErrors(fields)).toEqual(expected);
});

test("its addresses and its provider's name for it are given once", () => {
  const before = { spec: { podCIDRs: ["10.0.0.0/24"], providerID: "a" } };
  expect(updateErrors(before, { spec: { providerID: "b" } })).toEqual([
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ]);
});

import { expect, test } from "vitest";
import { cellsOf } from "../../cells.fixture.ts";
import { useStrategy } from "../../strategy.fixture.ts";

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

test("pod CIDRs and providerID are immutable once set", () => {
  const before = { spec: { podCIDRs: ["10.0.0.0/24"], providerID: "a" } };
  expect(updateErrors(before, { spec: { providerID: "b" } })).toEqual([
    'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid',
    'spec.providerID: Forbidden: node updates may not change providerID except from "" to valid',
  ]);
});

const nodeInfo = {
  kubeletVersion: "v1.36.0",
  osImage: "Debian 12",
  kernelVersion: "6.18",
  architecture: "amd64",
  containerRuntimeVersion: "kindling://0.1",
};

test.each([
  [[{ type: "Ready", status: "True" }], false, "Ready"],
  [[{ type: "Ready", status: "Unknown" }], true, "NotReady,SchedulingDisabled"],
  [[{ type: "DiskPressure", status: "True" }], false, "Unknown"],
])("conditions %j, cordoned %j: %s", (conditions, unschedulable, expected) => {
  expect(cellsOf("Node", { spec: { unschedulable }, status: { conditions } })[1]).toBe(expected);
});

test("roles, versions and addresses", () => {
  const addresses = [
    { type: "Hostname", address: "h" },
    { type: "InternalIP", address: "10.0.0.1" },
    { type: "InternalIP", address: "fd00::1" },
  ];
  const labels = {
    "node-role.kubernetes.io/worker": "",
    "kubernetes.io/role": "edge",
    "node-role.kubernetes.io/": "",
  };
  expect(cellsOf("Node", { status: { nodeInfo, addresses } }, { labels })).toEqual([
    "x",
    "Unknown",
    "edge,worker",
    "60m",
    "v1.36.0",
    "10.0.0.1",
    "<none>",
    "Debian 12",
    "6.18 (amd64)",
    "kindling://0.1",
  ]);
});

import { expect, test } from "vitest";
import { cellsOf } from "./cells.fixture.ts";

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

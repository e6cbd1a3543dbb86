import { expect, test } from "vitest";
import { cellsOf } from "./cells.fixture.ts";

const ports = [
  { port: 80, protocol: "TCP" },
  { port: 53, nodePort: 30053, protocol: "UDP" },
];

test.each([
  [{ type: "ClusterIP", clusterIPs: ["None"] }, {}, ["ClusterIP", "None", "<none>", "<none>"]],
  [
    { type: "NodePort", clusterIPs: ["10.0.0.1"], ports, externalIPs: ["1.1.1.1", "2.2.2.2"] },
    {},
    ["NodePort", "10.0.0.1", "1.1.1.1,2.2.2.2", "80/TCP,53:30053/UDP"],
  ],
  [
    { type: "LoadBalancer", clusterIPs: ["10.0.0.1"] },
    {},
    ["LoadBalancer", "10.0.0.1", "<pending>", "<none>"],
  ],
  [
    { type: "LoadBalancer", clusterIPs: ["10.0.0.1"], externalIPs: ["9.9.9.9"] },
    { loadBalancer: { ingress: [{ hostname: "lb.example" }, { ip: "3.3.3.3" }, { ip: "3.3.3.3" }] } },
    ["LoadBalancer", "10.0.0.1", "3.3.3.3,lb.example,9.9.9.9", "<none>"],
  ],
  [
    { type: "ExternalName", externalName: "example.org" },
    {},
    ["ExternalName", "<none>", "example.org", "<none>"],
  ],
])("service %j %j", (spec, status, expected) => {
  expect(cellsOf("Service", { spec, status })).toEqual(["x", ...expected, "60m", "<none>"]);
});

const addresses = [{ ip: "10.0.0.1" }, { ip: "fd00::2" }];

test.each([
  [undefined, "<none>"],
  [[], "<none>"],
  [[{ notReadyAddresses: addresses }], ""],
  [[{ addresses }], "10.0.0.1,fd00::2"],
  [
    [{ addresses, ports: [{ port: 80 }, { port: 443 }] }],
    "10.0.0.1:80,[fd00::2]:80,10.0.0.1:443 + 1 more...",
  ],
])("endpoints %j", (subsets, expected) => {
  expect(cellsOf("Endpoints", { subsets })).toEqual(["x", expected, "60m"]);
});

test.each([
  [{}, "<unset>", "<unset>"],
  [
    { ports: [{ port: 80 }, { name: "dns" }, {}, { port: 1 }], endpoints: [{ addresses: ["a", "b"] }] },
    "80,dns,* + 1 more...",
    "a,b",
  ],
])("endpoint slice %j", (fields, ports, endpoints) => {
  expect(cellsOf("EndpointSlice", { addressType: "IPv4", ...fields })).toEqual([
    "x",
    "IPv4",
    ports,
    endpoints,
    "60m",
  ]);
});

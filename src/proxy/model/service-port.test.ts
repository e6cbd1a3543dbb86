import { describe, expect, test } from "vitest";
import type { EndpointSlice } from "../../api/meta/objects.ts";
import { here, makeService, makeSlice } from "./service-port.fixture.ts";
import { isProxied, planService } from "./service-port.ts";

type Endpoint = NonNullable<EndpointSlice["endpoints"]>[number];

const at = (address: string, rest: Omit<Endpoint, "addresses"> = {}): Endpoint => ({
  addresses: [address],
  ...rest,
});
const local = { nodeName: "here" };
const draining = { conditions: { ready: false, serving: true, terminating: true } };
const notReady = { conditions: { ready: false } };

function chosen(endpoints: readonly Endpoint[], spec: Parameters<typeof makeService>[0] = {}) {
  const [port] = planService(makeService(spec), [makeSlice(endpoints)], here).ports;
  const addresses = (list: readonly { address: string }[] = []) => list.map(({ address }) => address);
  return {
    cluster: addresses(port?.endpoints.cluster),
    local: addresses(port?.endpoints.local),
    hasAny: port?.endpoints.hasAny,
  };
}

describe("endpoints of traffic policy Cluster", () => {
  test.each<[string, Endpoint[], string[], boolean]>([
    ["ready ones", [at("10.0.0.1"), at("10.0.0.2", notReady)], ["10.0.0.1"], true],
    ["none", [at("10.0.0.1", notReady)], [], false],
    [
      "terminating ones that serve if none is ready",
      [at("10.0.0.1", draining), at("10.0.0.2", notReady)],
      ["10.0.0.1"],
      true,
    ],
    ["no terminating ones if one is ready", [at("10.0.0.1", draining), at("10.0.0.2")], ["10.0.0.2"], true],
    [
      "those for this node if all have hints",
      [
        at("10.0.0.1", { hints: { forNodes: [{ name: "here" }] } }),
        at("10.0.0.2", { hints: { forNodes: [{ name: "there" }] } }),
      ],
      ["10.0.0.1"],
      true,
    ],
    [
      "those for this zone if none is for this node",
      [
        at("10.0.0.1", { hints: { forNodes: [{ name: "x" }], forZones: [{ name: "a" }] } }),
        at("10.0.0.2", { hints: { forNodes: [{ name: "x" }], forZones: [{ name: "b" }] } }),
      ],
      ["10.0.0.1"],
      true,
    ],
    [
      "all if one has no hints",
      [at("10.0.0.1", { hints: { forZones: [{ name: "b" }] } }), at("10.0.0.2")],
      ["10.0.0.1", "10.0.0.2"],
      true,
    ],
    [
      "all if no hint is for this zone",
      [at("10.0.0.1", { hints: { forZones: [{ name: "b" }] } })],
      ["10.0.0.1"],
      true,
    ],
  ])("are %s", (_name, endpoints, cluster, hasAny) => {
    expect(chosen(endpoints)).toEqual({ cluster, local: [], hasAny });
  });
});

describe("endpoints of traffic policy Local", () => {
  const spec = { internalTrafficPolicy: "Local" };
  test.each<[string, Endpoint[], string[], boolean]>([
    ["those of this node", [at("10.0.0.1", local), at("10.0.0.2")], ["10.0.0.1"], true],
    ["none, although other nodes have some", [at("10.0.0.2")], [], true],
    [
      "terminating ones if none is ready here",
      [at("10.0.0.1", { ...local, ...draining }), at("10.0.0.2")],
      ["10.0.0.1"],
      true,
    ],
  ])("are %s", (_name, endpoints, expected, hasAny) => {
    expect(chosen(endpoints, spec)).toEqual({ cluster: [], local: expected, hasAny });
  });

  test("are used together with those of policy Cluster by external traffic", () => {
    const found = chosen([at("10.0.0.1", local), at("10.0.0.2")], {
      type: "NodePort",
      externalTrafficPolicy: "Local",
    });
    expect(found).toEqual({ cluster: ["10.0.0.1", "10.0.0.2"], local: ["10.0.0.1"], hasAny: true });
  });
});

test("merges slices, counts an endpoint once, and matches named ports by name", () => {
  const service = makeService({ ports: [{ name: "http", port: 80, protocol: "TCP", targetPort: "web" }] });
  const slices = [
    makeSlice([at("10.0.0.1"), at("10.0.0.2", notReady)], {
      ports: [{ name: "http", port: 8080, protocol: "TCP" }],
    }),
    makeSlice([at("10.0.0.2"), at("10.0.0.1")], { ports: [{ name: "http", port: 8080, protocol: "TCP" }] }),
    makeSlice([at("10.0.0.3")], { ports: [{ name: "http", port: 9090, protocol: "TCP" }] }),
    makeSlice([at("10.0.0.4")], { ports: [{ name: "other", port: 8080, protocol: "TCP" }] }),
    makeSlice([at("10.0.0.5")], { ports: [{ name: "http", port: 8080, protocol: "UDP" }] }),
  ];
  const [port] = planService(service, slices, here).ports;
  expect(port?.endpoints.cluster.map((endpoint) => `${endpoint.address}:${endpoint.port}`)).toEqual([
    "10.0.0.1:8080",
    "10.0.0.2:8080",
    "10.0.0.3:9090",
  ]);
});

test("gives a dual-stack service one port in each family, with the endpoints of that family", () => {
  const service = makeService({ clusterIPs: ["10.96.0.7", "fd00::7"] });
  const slices = [makeSlice([at("10.0.0.1")]), makeSlice([at("fd00:1::1")], { addressType: "IPv6" })];
  const { ports } = planService(service, slices, here);
  expect(
    ports.map(({ family, clusterIP, endpoints }) => [family, clusterIP, endpoints.cluster[0]?.address]),
  ).toEqual([
    ["IPv4", "10.96.0.7", "10.0.0.1"],
    ["IPv6", "fd00::7", "fd00:1::1"],
  ]);
});

test("ignores addresses and ranges that are not valid", () => {
  const service = makeService(
    {
      type: "LoadBalancer",
      externalIPs: ["192.0.2.1", "1.1.1.1 }; flush ruleset; {"],
      loadBalancerSourceRanges: [" 10.0.0.0/8", "10.0.0.0/8 accept; x"],
    },
    {
      loadBalancer: { ingress: [{ ip: "192.0.2.9" }, { ip: "192.0.2.8", ipMode: "Proxy" }, { ip: "x; y" }] },
    },
  );
  const [port] = planService(
    service,
    [makeSlice([at("10.0.0.1 : x"), at("10.0.0.2"), at("fd00::1")])],
    here,
  ).ports;
  expect(port).toMatchObject({
    externalIPs: ["192.0.2.1"],
    loadBalancerIPs: ["192.0.2.9"],
    sourceRanges: ["10.0.0.0/8"],
    endpoints: { cluster: [{ address: "10.0.0.2" }] },
  });
});

test("ignores external IPs unless they are enabled", () => {
  const service = makeService({ externalIPs: ["192.0.2.1"] });
  const [port] = planService(service, [], { ...here, externalIPs: "ignored" }).ports;
  expect(port?.externalIPs).toEqual([]);
});

test("plans the health check of a load balancer with policy Local", () => {
  const spec = { type: "LoadBalancer", externalTrafficPolicy: "Local", healthCheckNodePort: 30_100 };
  const slices = [makeSlice([at("10.0.0.1", local), at("10.0.0.2")])];
  expect(planService(makeService(spec), slices, here).healthCheck).toEqual({
    port: 30_100,
    namespace: "default",
    name: "web",
    localEndpoints: 1,
  });
  const terminating = [makeSlice([at("10.0.0.1", { ...local, ...draining })])];
  expect(planService(makeService(spec), terminating, here)).toMatchObject({
    ports: [{ endpoints: { local: [{ address: "10.0.0.1" }] } }],
    healthCheck: { localEndpoints: 0 },
  });
  expect(
    planService(makeService({ ...spec, externalTrafficPolicy: "Cluster" }), slices, here).healthCheck,
  ).toBeUndefined();
});

test.each([
  [{}, true],
  [{ clusterIP: "None", clusterIPs: ["None"] }, false],
  [{ type: "ExternalName", externalName: "example.com" }, false],
  [{ clusterIP: "", clusterIPs: [] }, false],
])("serves %j: %s", (spec, expected) => expect(isProxied(makeService(spec))).toBe(expected));

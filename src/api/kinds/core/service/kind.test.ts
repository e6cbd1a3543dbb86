import { describe, expect, test } from "vitest";
import { defaultFeatures } from "../../../meta/feature-gates.ts";
import type { Service } from "../../../meta/objects.ts";
import { sentences } from "../../../pod/pod.fixture.ts";
import { cellsOf } from "../../cells.fixture.ts";
import { serviceKind, serviceWarnings } from "./kind.ts";

const { strategy } = serviceKind;

type Spec = NonNullable<Service["spec"]>;
const context = { features: defaultFeatures, now: 0 };

function make(spec: Spec = {}, status?: Service["status"]): Service {
  const service: Service = {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "default" },
    spec: { ports: [{ port: 80 }], ...structuredClone(spec) },
    ...(status && { status }),
  };
  strategy.applyDefaults?.(service, context);
  return service;
}

function create(spec: Spec): string[] {
  const service = make(spec);
  strategy.prepareForCreate?.(service, context);
  return sentences(strategy.validate?.(service, context) ?? []);
}

function update(before: Spec, after: Spec): { found: string[]; spec: Spec } {
  const current = make(before);
  const next = make(after);
  strategy.prepareForUpdate?.(next, current, context);
  return { found: sentences(strategy.validateUpdate?.(next, current, context) ?? []), spec: next.spec ?? {} };
}

describe("defaults", () => {
  test.each<[Spec, Spec]>([
    [
      {},
      {
        type: "ClusterIP",
        sessionAffinity: "None",
        internalTrafficPolicy: "Cluster",
        ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
      },
    ],
    [
      { type: "LoadBalancer", ports: [{ port: 80, targetPort: "http" }] },
      {
        type: "LoadBalancer",
        sessionAffinity: "None",
        externalTrafficPolicy: "Cluster",
        internalTrafficPolicy: "Cluster",
        allocateLoadBalancerNodePorts: true,
        ports: [{ port: 80, protocol: "TCP", targetPort: "http" }],
      },
    ],
    [
      { sessionAffinity: "ClientIP", ports: [] },
      {
        type: "ClusterIP",
        sessionAffinity: "ClientIP",
        sessionAffinityConfig: { clientIP: { timeoutSeconds: 10800 } },
        internalTrafficPolicy: "Cluster",
        ports: [],
      },
    ],
  ])("%j", (spec, expected) => {
    expect(make(spec).spec).toEqual(expected);
  });
});

describe("valid services", () => {
  test.each<Spec>([
    {},
    { type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] },
    { clusterIP: "None", ports: [] },
    { clusterIP: "10.96.0.1" },
    { type: "ExternalName", externalName: "example.com.", ports: [] },
    {
      ports: [
        { name: "a", port: 53, protocol: "UDP" },
        { name: "b", port: 53 },
      ],
    },
    { externalIPs: ["192.0.2.1"] },
    { type: "LoadBalancer", loadBalancerSourceRanges: ["10.0.0.0/8"], loadBalancerClass: "example.com/lb" },
    { trafficDistribution: "PreferSameNode" },
  ])("%j", (spec) => {
    expect(create(spec)).toEqual([]);
  });
});

describe("invalid services", () => {
  test.each<[Spec, string[]]>([
    [{ ports: [] }, ["spec.ports: Required value"]],
    [
      { type: "Magic" },
      [
        'spec.type: Unsupported value: "Magic": supported values: "ClusterIP", "ExternalName", "LoadBalancer", "NodePort"',
      ],
    ],
    [
      { ports: [{ port: 0, targetPort: "UP", protocol: "ICMP" }] },
      [
        "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive",
        'spec.ports[0].protocol: Unsupported value: "ICMP": supported values: "SCTP", "TCP", "UDP"',
        'spec.ports[0].targetPort: Invalid value: "UP": must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)',
        'spec.ports[0].targetPort: Invalid value: "UP": must contain at least one letter (a-z)',
      ],
    ],
    [
      { ports: [{ port: 1 }, { port: 2 }] },
      ["spec.ports[0].name: Required value", "spec.ports[1].name: Required value"],
    ],
    [
      {
        ports: [
          { name: "a", port: 1 },
          { name: "a", port: 1 },
        ],
      },
      [
        'spec.ports[1].name: Duplicate value: "a"',
        'spec.ports[1]: Duplicate value: {"port":1,"protocol":"TCP"}',
      ],
    ],
    [
      { ports: [{ port: 1, nodePort: 30000 }] },
      ["spec.ports[0].nodePort: Forbidden: may not be used when `type` is 'ClusterIP'"],
    ],
    [
      { sessionAffinity: "Sticky" },
      ['spec.sessionAffinity: Unsupported value: "Sticky": supported values: "ClientIP", "None"'],
    ],
    [
      { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 90000 } } },
      [
        "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 90000: must be greater than 0 and less than 86400",
      ],
    ],
    [
      { clusterIP: "x" },
      [
        'spec.clusterIPs[0]: Invalid value: "x": must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)',
      ],
    ],
    [
      { clusterIP: "10.0.0.1", clusterIPs: ["10.0.0.2"] },
      ['spec.clusterIPs: Invalid value: ["10.0.0.2"]: first value must match `clusterIP`'],
    ],
    [
      { clusterIP: "10.0.0.1", ipFamilies: ["IPv6"] },
      [
        'spec.clusterIPs[0]: Invalid value: "10.0.0.1": expected an IPv6 value as indicated by `ipFamilies[0]`',
      ],
    ],
    [
      { type: "NodePort", clusterIP: "None" },
      ["spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services"],
    ],
    [{ type: "ExternalName", ports: [] }, ["spec.externalName: Required value"]],
    [
      { externalIPs: ["127.0.0.1"] },
      [
        'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
      ],
    ],
    [
      { loadBalancerClass: "a", allocateLoadBalancerNodePorts: true, loadBalancerSourceRanges: ["x"] },
      [
        "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        'spec.LoadBalancerSourceRanges[0]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
        "spec.allocateLoadBalancerNodePorts: Forbidden: may only be used when `type` is 'LoadBalancer'",
        "spec.loadBalancerClass: Forbidden: may only be used when `type` is 'LoadBalancer'",
      ],
    ],
    [
      { externalTrafficPolicy: "Local" },
      [
        'spec.externalTrafficPolicy: Invalid value: "Local": may only be set for externally-accessible services',
      ],
    ],
    [{ type: "LoadBalancer", externalTrafficPolicy: "Local" }, ["spec.healthCheckNodePort: Required value"]],
  ])("%j", (spec, expected) => {
    expect(create(spec)).toEqual(expected);
  });
});

describe("updates", () => {
  const stored: Spec = {
    clusterIP: "10.96.0.9",
    clusterIPs: ["10.96.0.9"],
    ipFamilies: ["IPv4"],
    ipFamilyPolicy: "SingleStack",
  };

  test("keeps allocated values that the update omits", () => {
    const nodePort: Spec = { ...stored, type: "NodePort", ports: [{ port: 80, nodePort: 30080 }] };
    const { found, spec } = update(nodePort, { type: "NodePort", ports: [{ port: 81 }] });
    expect(found).toEqual([]);
    expect(spec).toMatchObject({ ...stored, ports: [{ port: 81, nodePort: 30080 }] });
  });

  test("an allocated address cannot be changed", () => {
    expect(update(stored, { ...stored, clusterIP: "10.96.0.8" }).found).toEqual([
      'spec.clusterIPs[0]: Invalid value: ["10.96.0.8"]: may not change once set',
    ]);
  });

  test("a change of the type removes the fields of the previous type", () => {
    const loadBalancer: Spec = { ...stored, type: "LoadBalancer", ports: [{ port: 80, nodePort: 30080 }] };
    const { found, spec } = update(loadBalancer, { ...make(loadBalancer).spec, type: "ClusterIP" });
    expect(found).toEqual([]);
    expect(spec).toEqual({
      ...stored,
      type: "ClusterIP",
      sessionAffinity: "None",
      internalTrafficPolicy: "Cluster",
      ports: [{ port: 80, protocol: "TCP", targetPort: 80 }],
    });
    const external = { ...make(stored).spec, type: "ExternalName", externalName: "a.example.com" };
    expect(update(stored, external).spec.clusterIPs).toBeUndefined();
  });

  test("status", () => {
    const ingress = [{ ip: "192.0.2.1" }];
    const current = make({ type: "LoadBalancer" });
    const next = make({ type: "LoadBalancer" }, { loadBalancer: { ingress } });
    expect(sentences(strategy.validateStatusUpdate?.(next, current, context) ?? [])).toEqual([]);
    const wrong = make({}, { loadBalancer: { ingress } });
    expect(sentences(strategy.validateStatusUpdate?.(wrong, make(), context) ?? [])).toEqual([
      "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'",
    ]);
  });
});

test.each<[object, string[]]>([
  [{ type: "ClusterIP" }, []],
  [
    { externalIPs: ["1.2.3.4"] },
    ["spec.externalIPs is deprecated and may no longer be implemented in some clusters"],
  ],
  [
    { clusterIP: "None", externalIPs: ["1.2.3.4"], sessionAffinity: "ClientIP", loadBalancerIP: "1.1.1.1" },
    [
      "spec.loadBalancerIP is ignored for headless services",
      "spec.externalIPs is ignored for headless services",
      "spec.SessionAffinity is ignored for headless services",
    ],
  ],
  [
    { type: "ExternalName", externalIPs: ["1.2.3.4"] },
    ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
  ],
  [
    { type: "ClusterIP", externalName: "a.b" },
    ['spec.externalName is ignored when spec.type is not "ExternalName"'],
  ],
  [
    { trafficDistribution: "PreferClose" },
    ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
  ],
])("%j", (spec, expected) => {
  expect(serviceWarnings({ spec })).toEqual(expected);
});

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

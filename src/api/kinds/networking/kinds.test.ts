import { expect, test } from "vitest";
import { cellsOf } from "../cells.fixture.ts";
import { context, useStrategy } from "../strategy.fixture.ts";

const backend = { service: { name: "web", port: { number: 80 } } };
const group = "networking.k8s.io/v1";

test.each<[string, object, string[]]>([
  ["NetworkPolicy", { spec: { podSelector: {}, ingress: [{}], egress: [{}] } }, []],
  [
    "NetworkPolicy",
    {
      spec: {
        podSelector: {},
        ingress: [
          {
            from: [{}, { podSelector: {}, ipBlock: { cidr: "10.0.0.0/8", except: ["10.0.0.0/8", "::/0"] } }],
            ports: [{ port: 80, endPort: 70 }, { endPort: 1 }, { port: "http", endPort: 1 }],
          },
        ],
        policyTypes: ["Both"],
      },
    },
    [
      "spec.ingress[0].ports[0].endPort: Invalid value: 80: must be greater than or equal to `port`",
      "spec.ingress[0].ports[1].endPort: Invalid value: 1: may not be specified when `port` is not specified",
      "spec.ingress[0].ports[2].endPort: Invalid value: 1: may not be specified when `port` is non-numeric",
      "spec.ingress[0].from[0]: Required value: must specify a peer",
      'spec.ingress[0].from[1].ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
      'spec.ingress[0].from[1].ipBlock.except[1]: Invalid value: "::/0": must be a strict subset of `cidr`',
      "spec.ingress[0].from[1]: Forbidden: may not specify both ipBlock and another peer",
      'spec.policyTypes[0]: Unsupported value: "Both": supported values: "Ingress", "Egress"',
    ],
  ],
  ["Ingress", { spec: { defaultBackend: backend } }, []],
  ["Ingress", {}, ["spec: Invalid value: null: either `defaultBackend` or `rules` must be specified"]],
  [
    "Ingress",
    { spec: { rules: [{ host: "10.0.0.1", http: { paths: [{ path: "a//b/.", pathType: "Exact" }, {}] } }] } },
    [
      'spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address',
      'spec.rules[0].http.paths[0].path: Invalid value: "a//b/.": must be an absolute path',
      "spec.rules[0].http.paths[0].path: Invalid value: \"a//b/.\": must not contain '//'",
      "spec.rules[0].http.paths[0].path: Invalid value: \"a//b/.\": cannot end with '/.'",
      'spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required',
      "spec.rules[0].http.paths[1].pathType: Required value: pathType must be specified",
    ],
  ],
  ["IngressClass", { spec: { controller: "example.com/a", parameters: { kind: "A", name: "a" } } }, []],
  [
    "IngressClass",
    { spec: { controller: "example.com", parameters: { kind: "A", name: "a", scope: "Namespace" } } },
    [
      'spec.controller: Invalid value: "example.com": must be a domain-prefixed path (such as "acme.io/foo")',
      "spec.parameters.namespace: Required value: `parameters.scope` is set to 'Namespace'",
    ],
  ],
])("create %s %j", (kind, fields, expected) => {
  expect(useStrategy(group, kind).createErrors(fields)).toEqual(expected);
});

test("the controller of an IngressClass is immutable", () => {
  const [before, after] = ["example.com/a", "example.com/b"].map((controller) => ({ spec: { controller } }));
  expect(useStrategy(group, "IngressClass").updateErrors(before ?? {}, after ?? {})).toEqual([
    'spec.controller: Invalid value: "example.com/b": field is immutable',
  ]);
});

test("a NetworkPolicy gets the types of its rules and TCP for its ports", () => {
  const { make } = useStrategy(group, "NetworkPolicy");
  expect(make({ spec: { podSelector: {}, egress: [{ ports: [{ port: 53 }] }] } })).toMatchObject({
    spec: { policyTypes: ["Ingress", "Egress"], egress: [{ ports: [{ port: 53, protocol: "TCP" }] }] },
  });
  expect(make({ spec: { podSelector: {} } })).toMatchObject({ spec: { policyTypes: ["Ingress"] } });
});

test("a NetworkPolicy that is not enforced causes a warning", () => {
  const { strategy, make } = useStrategy(group, "NetworkPolicy");
  const policy = make({ spec: { podSelector: {} } });
  expect(strategy.warnings?.(policy, context)).toEqual([]);
  const networkPolicyWarning = "NetworkPolicies are not enforced";
  expect(strategy.warnings?.(policy, { ...context, networkPolicyWarning })).toEqual([networkPolicyWarning]);
});

test.each<[string, object, unknown[]]>([
  ["NetworkPolicy", { spec: { podSelector: {} } }, ["x", "<none>", "60m"]],
  ["NetworkPolicy", { spec: { podSelector: { matchLabels: { a: "b" } } } }, ["x", "a=b", "60m"]],
  ["Ingress", { spec: { defaultBackend: backend } }, ["x", "<none>", "*", "", "80", "60m"]],
  [
    "Ingress",
    {
      spec: { ingressClassName: "c", tls: [{}], rules: ["a", "", "b", "c", "d"].map((host) => ({ host })) },
      status: { loadBalancer: { ingress: [{ ip: "10.0.0.2" }, { hostname: "a" }, { ip: "10.0.0.2" }] } },
    },
    ["x", "c", "a,b,c + 2 more...", "10.0.0.2,a", "80, 443", "60m"],
  ],
  [
    "IngressClass",
    { spec: { controller: "a.b/c", parameters: { apiGroup: "g", kind: "K", name: "n" } } },
    ["x", "a.b/c", "K.g/n", "60m"],
  ],
])("%s %j is printed as %j", (kind, fields, expected) => {
  expect(cellsOf(kind, fields)).toEqual(expected);
});

import { describe, expect, test } from "vitest";
import type { Endpoints, Pod, Service } from "../../api/meta/objects.ts";
import { makePod, makeService } from "../service-pods/service-pods.fixture.ts";
import { decideEndpoints } from "./decide-endpoints.ts";

function decide(service: Service, pods: readonly Pod[], current?: Endpoints): Endpoints {
  const action = decideEndpoints(service, pods, current);
  if (action.kind === "none") throw new Error("expected a write");
  return action.endpoints;
}

const http = { name: "http", port: 8080, protocol: "TCP" };
const ips = (addresses?: readonly { ip: string }[]) => addresses?.map(({ ip }) => ip);
const draw = (endpoints: Endpoints) =>
  (endpoints.subsets ?? []).map(({ addresses, notReadyAddresses, ports }) => [
    ips(addresses),
    ips(notReadyAddresses),
    ports?.map(({ port }) => port),
  ]);

describe("the addresses of an Endpoints object", () => {
  test("have pod, node and ports", () => {
    const service = makeService({}, { labels: { tier: "front" } });
    expect(decide(service, [makePod("a")])).toEqual({
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: {
        name: "web",
        namespace: "default",
        labels: { tier: "front", "endpoints.kubernetes.io/managed-by": "endpoint-controller" },
        annotations: {},
      },
      subsets: [
        {
          addresses: [
            {
              ip: "10.0.0.1",
              nodeName: "node-1",
              targetRef: { kind: "Pod", namespace: "default", name: "a", uid: "a" },
            },
          ],
          ports: [http],
        },
      ],
    });
  });

  const named = { name: "http", port: 80, targetPort: "web", protocol: "TCP" };
  const offering = (containerPort: number) => ({
    containers: [{ name: "c", ports: [{ name: "web", containerPort }] }],
  });
  const headless = { clusterIP: "None", ports: [] };
  const cases: [string, Service, Pod[], unknown[]][] = [
    ["nobody", makeService(), [], []],
    [
      "split by readiness",
      makeService(),
      [makePod("a"), makePod("b", { ip: "10.0.0.2", ready: false })],
      [[["10.0.0.1"], ["10.0.0.2"], [8080]]],
    ],
    [
      "sorted",
      makeService(),
      [makePod("a", { ip: "10.0.0.9" }), makePod("b")],
      [[["10.0.0.1", "10.0.0.9"], undefined, [8080]]],
    ],
    [
      "without pods that terminate or have terminated",
      makeService(),
      [makePod("a", { terminating: true }), makePod("b", { phase: "Failed" })],
      [],
    ],
    ["without pods that have no address", makeService(), [makePod("a", { ip: "" })], []],
    [
      "of all pods with publishNotReadyAddresses",
      makeService({ publishNotReadyAddresses: true }),
      [makePod("a", { ready: false }), makePod("b", { ip: "10.0.0.2", terminating: true })],
      [[["10.0.0.1", "10.0.0.2"], undefined, [8080]]],
    ],
    [
      "with a named port resolved per pod",
      makeService({ ports: [named] }),
      [
        makePod("a", { spec: offering(1) }),
        makePod("b", { ip: "10.0.0.2", spec: offering(2) }),
        makePod("c"),
      ],
      [
        [["10.0.0.1"], undefined, [1]],
        [["10.0.0.2"], undefined, [2]],
      ],
    ],
    [
      "of a headless service without ports",
      makeService(headless),
      [makePod("a")],
      [[["10.0.0.1"], undefined, undefined]],
    ],
    [
      "of the address family of the service",
      makeService({ ipFamilies: ["IPv6"] }),
      [makePod("a", { ips: ["10.0.0.1", "fd00::1"] })],
      [[["fd00::1"], undefined, [8080]]],
    ],
    ["without those of another family", makeService({ ipFamilies: ["IPv6"] }), [makePod("a")], []],
  ];
  test.each(cases)("%s", (_, service, pods, expected) => {
    expect(draw(decide(service, pods))).toEqual(expected);
  });

  test("have the hostnames of pods with the service's subdomain", () => {
    const spec = { hostname: "web-0", subdomain: "web" };
    const { subsets, metadata } = decide(makeService({ clusterIP: "None" }), [makePod("web-0", { spec })]);
    expect(subsets?.[0]?.addresses).toMatchObject([{ hostname: "web-0" }]);
    expect(metadata.labels).toHaveProperty(["service.kubernetes.io/headless"], "");
  });
});

describe("an existing Endpoints object", () => {
  const pods = [makePod("a"), makePod("b", { ip: "10.0.0.2", ready: false })];
  const current = decide(makeService(), pods);

  test("is not written if it is up to date", () => {
    expect(decideEndpoints(makeService(), pods, current)).toEqual({ kind: "none" });
    const empty = { ...decide(makeService(), []), subsets: undefined };
    expect(decideEndpoints(makeService(), [], empty)).toEqual({ kind: "none" });
  });
  test("keeps the annotations of others when it is updated", () => {
    const annotated = { ...current, metadata: { ...current.metadata, annotations: { mine: "x" } } };
    const action = decideEndpoints(makeService(), [], annotated);
    expect(action).toMatchObject({
      kind: "update",
      endpoints: { metadata: { annotations: { mine: "x" } }, subsets: [] },
    });
  });
  test("follows the service's labels", () => {
    const service = makeService({}, { labels: { new: "label" } });
    expect(decideEndpoints(service, pods, current).kind).toBe("update");
  });
});

test("truncates to 1,000 addresses, not ready ones first, and sets the over-capacity annotation", () => {
  const pods = Array.from({ length: 1_200 }, (_, i) =>
    makePod(`p${i}`, { ip: `10.0.${i >> 8}.${i & 255}`, ready: i < 900 }),
  );
  const endpoints = decide(makeService(), pods);
  expect(
    endpoints.subsets?.map((subset) => [subset.addresses?.length, subset.notReadyAddresses?.length]),
  ).toEqual([[900, 100]]);
  expect(endpoints.metadata.annotations).toEqual({ "endpoints.kubernetes.io/over-capacity": "truncated" });
  expect(decideEndpoints(makeService(), pods, endpoints)).toEqual({ kind: "none" });
});

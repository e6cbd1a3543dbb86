import { describe, expect, test } from "vitest";
import type { Endpoints, Pod, Service } from "../../api/objects.ts";
import { makePod, makeService } from "../service-pods/service-pods.fixture.ts";
import { decideEndpoints } from "./decide-endpoints.ts";

function decide(service: Service, pods: readonly Pod[], current?: Endpoints): Endpoints {
  const action = decideEndpoints(service, pods, current);
  if (action.kind === "none") throw new Error("nothing to do");
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

describe("the addresses of a service", () => {
  test("come with their pods, nodes and ports", () => {
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
      "ready and not",
      makeService(),
      [makePod("a"), makePod("b", { ip: "10.0.0.2", ready: false })],
      [[["10.0.0.1"], ["10.0.0.2"], [8080]]],
    ],
    [
      "in order",
      makeService(),
      [makePod("a", { ip: "10.0.0.9" }), makePod("b")],
      [[["10.0.0.1", "10.0.0.9"], undefined, [8080]]],
    ],
    [
      "without those that end or have ended",
      makeService(),
      [makePod("a", { going: true }), makePod("b", { phase: "Failed" })],
      [],
    ],
    ["without those that have no address", makeService(), [makePod("a", { ip: "" })], []],
    [
      "all of them, when that is wanted",
      makeService({ publishNotReadyAddresses: true }),
      [makePod("a", { ready: false }), makePod("b", { ip: "10.0.0.2", going: true })],
      [[["10.0.0.1", "10.0.0.2"], undefined, [8080]]],
    ],
    [
      "by what a port's name means to each pod",
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
      "of the family of the service",
      makeService({ ipFamilies: ["IPv6"] }),
      [makePod("a", { ips: ["10.0.0.1", "fd00::1"] })],
      [[["fd00::1"], undefined, [8080]]],
    ],
    ["but none of another family", makeService({ ipFamilies: ["IPv6"] }), [makePod("a")], []],
  ];
  test.each(cases)("%s", (_, service, pods, expected) => {
    expect(draw(decide(service, pods))).toEqual(expected);
  });

  test("have the names that DNS knows them by", () => {
    const spec = { hostname: "web-0", subdomain: "web" };
    const { subsets, metadata } = decide(makeService({ clusterIP: "None" }), [makePod("web-0", { spec })]);
    expect(subsets?.[0]?.addresses).toMatchObject([{ hostname: "web-0" }]);
    expect(metadata.labels).toHaveProperty(["service.kubernetes.io/headless"], "");
  });
});

describe("what is there already", () => {
  const pods = [makePod("a"), makePod("b", { ip: "10.0.0.2", ready: false })];
  const current = decide(makeService(), pods);

  test("is left alone when it is right", () => {
    expect(decideEndpoints(makeService(), pods, current)).toEqual({ kind: "none" });
    const empty = { ...decide(makeService(), []), subsets: undefined };
    expect(decideEndpoints(makeService(), [], empty)).toEqual({ kind: "none" });
  });
  test("is updated with what others wrote on it", () => {
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

test("more than 1,000 are cut, those that are not ready first, and it is said", () => {
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

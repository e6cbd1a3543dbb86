import { expect, test } from "vitest";
import type { EndpointSlice, Endpoints, Service } from "../../api/meta/objects.ts";
import { decideMirror, isMirrored } from "./decide-mirror.ts";

const service: Service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "db", namespace: "default" },
  spec: {},
};

function make(more: Partial<Endpoints> = {}, metadata: Endpoints["metadata"] = {}): Endpoints {
  return {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name: "db", namespace: "default", uid: "u", ...metadata },
    subsets: [
      { addresses: [{ ip: "192.0.2.1" }], notReadyAddresses: [{ ip: "192.0.2.2" }], ports: [{ port: 5432 }] },
    ],
    ...more,
  };
}

test("mirrors each subset and family in a slice that belongs to the Endpoints", () => {
  const ports = [{ name: "sql", port: 5432 }];
  const subsets = [{ addresses: [{ ip: "192.0.2.1" }, { ip: "2001:db8::1" }], ports }];
  const { create } = decideMirror(make({ subsets }), service, []);
  expect(create.map(({ addressType, endpoints }) => [addressType, endpoints?.[0]?.addresses])).toEqual([
    ["IPv4", ["192.0.2.1"]],
    ["IPv6", ["2001:db8::1"]],
  ]);
  expect(create[0]).toMatchObject({
    metadata: {
      generateName: "db-",
      labels: {
        "kubernetes.io/service-name": "db",
        "endpointslice.kubernetes.io/managed-by": "endpointslicemirroring-controller.k8s.io",
      },
      ownerReferences: [{ kind: "Endpoints", uid: "u", controller: true }],
    },
    ports: [{ name: "sql", port: 5432, protocol: "TCP" }],
  });
});

test("keeps slices that are up to date, updates changed ones and removes the others", () => {
  const [first] = decideMirror(make(), service, []).create;
  const known: EndpointSlice[] = first ? [{ ...first, metadata: { ...first.metadata, name: "db-1" } }] : [];
  expect(decideMirror(make(), service, known)).toEqual({ create: [], update: [], remove: [] });
  const subsets = [{ addresses: [{ ip: "192.0.2.9" }], ports: [{ port: 5432 }] }];
  const { create, update } = decideMirror(make({ subsets }), service, known);
  expect(create).toEqual([]);
  expect(update[0]).toMatchObject({ metadata: { name: "db-1" }, endpoints: [{ addresses: ["192.0.2.9"] }] });
  expect(decideMirror(undefined, service, known).remove).toEqual(known);
});

test.each<[string, Endpoints | undefined, Service | undefined, boolean]>([
  ["Endpoints of a service without selector", make(), service, true],
  ["no Endpoints", undefined, service, false],
  ["no service", make(), undefined, false],
  ["a service with selector", make(), { ...service, spec: { selector: { app: "x" } } }, false],
  [
    "skip-mirror",
    make({}, { labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } }),
    service,
    false,
  ],
  [
    "leader election",
    make({}, { annotations: { "control-plane.alpha.kubernetes.io/leader": "{}" } }),
    service,
    false,
  ],
])("mirrors: %s", (_name, endpoints, of, expected) => expect(isMirrored(endpoints, of)).toBe(expected));

import { expect, test } from "vitest";
import type { Service } from "../../api/meta/objects.ts";
import { decideAddresses, hasAddresses } from "./decide-addresses.ts";

function make(name: string, port: number, more: { created?: string; spec?: Service["spec"] } = {}): Service {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace: "default", creationTimestamp: more.created ?? "2026-01-01T00:00:00Z" },
    spec: { type: "LoadBalancer", ports: [{ port }], ...more.spec },
  };
}

const decide = (...services: Service[]) =>
  decideAddresses(services, ["10.88.0.1", "fd00::1"]).map(({ service, addresses, conflict }) => [
    service.metadata.name,
    addresses,
    conflict,
  ]);

test("gives load balancers the node's addresses of their families", () => {
  expect(decide(make("a", 80), make("b", 81, { spec: { ipFamilies: ["IPv6"] } }))).toEqual([
    ["a", ["10.88.0.1"], undefined],
    ["b", ["fd00::1"], undefined],
  ]);
});

test("leaves a port to the oldest service that uses it", () => {
  const younger = make("a", 80, { created: "2026-01-02T00:00:00Z" });
  expect(decide(younger, make("b", 80))).toEqual([
    ["b", ["10.88.0.1"], undefined],
    ["a", [], 80],
  ]);
});

test("ignores other types, other classes and deleted services", () => {
  const deleted = make("c", 80);
  deleted.metadata.deletionTimestamp = "2026-01-01T00:00:00Z";
  expect(
    decide(
      make("a", 80, { spec: { type: "NodePort" } }),
      make("b", 80, { spec: { loadBalancerClass: "x.y/z" } }),
      deleted,
    ),
  ).toEqual([]);
});

test("recognizes a status that is up to date", () => {
  const service = make("a", 80);
  expect(hasAddresses(service, [])).toBe(true);
  service.status = { loadBalancer: { ingress: [{ ip: "10.88.0.1", ipMode: "VIP" }] } };
  expect(hasAddresses(service, ["10.88.0.1"])).toBe(true);
  expect(hasAddresses(service, [])).toBe(false);
});

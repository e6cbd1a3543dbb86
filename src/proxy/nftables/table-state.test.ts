import { expect, test } from "vitest";
import { makePort } from "../model/service-port.fixture.ts";
import type { ServicePort } from "../model/service-port.ts";
import { createTableState } from "./table-state.ts";

const options = {
  family: "ip",
  table: "t",
  podInterface: "kindling0",
  masqueradeAll: false,
  nodePortAddresses: ["127.0.0.1"],
  exposedAddresses: [],
} as const;

function open(services: Record<string, readonly ServicePort[]>) {
  const state = new Map(Object.entries(services));
  const table = createTableState(options);
  const first = table.replace(state);
  first.commit();
  return {
    first: first.commands,
    change(next: Record<string, readonly ServicePort[]>) {
      for (const [service, ports] of Object.entries(next)) state.set(service, ports);
      const update = table.change(Object.keys(next), state);
      update.commit();
      return update.commands;
    },
  };
}

test("replaces the whole table in one transaction", () => {
  const { first } = open({ a: [makePort(["10.0.0.2"])] });
  expect(first.slice(0, 3)).toEqual(["add table ip t", "delete table ip t", "add table ip t"]);
  expect(first).toContain(
    "add element ip t cluster-frontends { 10.96.0.7 . tcp . 80 : goto pick-cluster-endpoints-1 }",
  );
  expect(first).toContain(
    "add element ip t cluster-endpoints { 10.96.0.7 . tcp . 80 . 0 : 10.0.0.2 . 8080 }",
  );
});

test("changes only elements when an endpoint is replaced", () => {
  const table = open({ a: [makePort(["10.0.0.2", "10.0.0.4"])] });
  expect(table.change({ a: [makePort(["10.0.0.2", "10.0.0.6"])] })).toEqual([
    "delete element ip t cluster-endpoints { 10.96.0.7 . tcp . 80 . 1 }",
    "add element ip t cluster-endpoints { 10.96.0.7 . tcp . 80 . 1 : 10.0.0.6 . 8080 }",
  ]);
});

test("rejects connections after the last endpoint is gone, and removes a deleted service", () => {
  const table = open({ a: [makePort(["10.0.0.2"])] });
  expect(table.change({ a: [makePort([])] })).toEqual([
    "delete element ip t cluster-endpoints { 10.96.0.7 . tcp . 80 . 0 }",
    "delete element ip t cluster-frontends { 10.96.0.7 . tcp . 80 }",
    "add element ip t cluster-without-endpoints { 10.96.0.7 . tcp . 80 : goto reject-connection }",
  ]);
  expect(table.change({ a: [] })).toEqual([
    "delete element ip t cluster-without-endpoints { 10.96.0.7 . tcp . 80 }",
  ]);
});

test("replaces the table when a service has more endpoints than it is prepared for", () => {
  const table = open({ a: [makePort(["10.0.0.2"])] });
  const many = Array.from({ length: 17 }, (_, i) => `10.0.1.${i * 2}`);
  const commands = table.change({ a: [makePort(many)] });
  expect(commands).toContain("delete table ip t");
  expect(commands).toContain("add chain ip t pick-cluster-endpoints-32");
});

test("keeps an element that two services share until both are gone", () => {
  const a = makePort(["10.0.0.1"]);
  const b = makePort(["10.0.0.1"], { clusterIP: "10.96.0.8" });
  const table = open({ a: [a], b: [b] });
  expect(table.change({ a: [] }).join()).not.toContain("hairpin");
  expect(table.change({ b: [] })).toContain("delete element ip t hairpin { 10.0.0.1 . 10.0.0.1 }");
});

test("leaves an external address to the first of two services and passes it on", () => {
  const external = (clusterIP: string, address: string) =>
    makePort([address], { clusterIP, externalIPs: ["192.0.2.1"], externalTrafficPolicy: "Cluster" });
  const table = open({ a: [external("10.96.0.7", "10.0.0.2")] });
  const second = external("10.96.0.8", "10.0.0.4");
  expect(table.change({ b: [second] }).join()).not.toContain("192.0.2.1");
  expect(table.change({ a: [] })).toEqual(
    expect.arrayContaining([
      "delete element ip t external-endpoints { 192.0.2.1 . tcp . 80 . 0 }",
      "add element ip t external-endpoints { 192.0.2.1 . tcp . 80 . 0 : 10.0.0.4 . 8080 }",
    ]),
  );
});

test("keeps the affinity sets of endpoints that stay", () => {
  const port = (addresses: readonly string[]) => makePort(addresses, { sessionAffinity: "ClientIP" });
  const table = open({ a: [port(["10.0.0.2", "10.0.0.4"])] });
  const commands = table.change({ a: [port(["10.0.0.2", "10.0.0.6"])] });
  expect(commands.filter((command) => command.startsWith("add set"))).toHaveLength(1);
  expect(commands.filter((command) => command.startsWith("delete set"))).toHaveLength(1);
});

test("session affinity ends after the timeout of the service", () => {
  const sessionAffinityConfig = { clientIP: { timeoutSeconds: 7 } };
  const { first } = open({
    a: [makePort(["10.0.0.2"], { sessionAffinity: "ClientIP", sessionAffinityConfig })],
  });
  const sets = first.filter((command) => command.startsWith("add set ip t affinity-"));
  expect(sets).toEqual([expect.stringContaining("{ type ipv4_addr; flags dynamic,timeout; timeout 7s; }")]);
});

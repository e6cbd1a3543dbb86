import { expect, test } from "vitest";
import { makePort } from "../model/service-port.fixture.ts";
import type { ServicePort } from "../model/service-port.ts";
import { diffPlans, planListeners } from "./plan-listeners.ts";

const plan = (...ports: ServicePort[]) =>
  planListeners(new Map([["default/web", ports]]), ["127.0.0.1", "10.88.0.1"]);

test("plans a listener for each address, and addresses for those that the node does not have", () => {
  const spec = { type: "LoadBalancer", ports: [{ port: 80, protocol: "TCP", nodePort: 30_080 }] };
  const status = { loadBalancer: { ingress: [{ ip: "10.88.0.1", ipMode: "VIP" }] } };
  const { addresses, listeners } = plan(makePort(["10.0.0.2"], spec, status));
  expect([...addresses]).toEqual(["10.96.0.7"]);
  expect([...listeners.keys()]).toEqual([
    "TCP 10.96.0.7 80",
    "TCP 10.88.0.1 80",
    "TCP 127.0.0.1 30080",
    "TCP 10.88.0.1 30080",
  ]);
});

test("plans the address of a service without endpoints, but no listener, so that the kernel rejects connections", () => {
  const { addresses, listeners } = plan(makePort([]));
  expect([...addresses]).toEqual(["10.96.0.7"]);
  expect(listeners.size).toBe(0);
});

test("uses endpoints of this node for internalTrafficPolicy Local", () => {
  const { listeners } = plan(makePort(["10.0.0.1", "10.0.0.2"], { internalTrafficPolicy: "Local" }));
  expect(listeners.get("TCP 10.96.0.7 80")?.endpoints).toEqual([{ address: "10.0.0.1", port: 8080 }]);
});

test("changes only listeners whose endpoints differ", () => {
  const other = makePort(["10.0.0.6"], { clusterIP: "10.96.0.8" });
  const changes = diffPlans(plan(makePort(["10.0.0.2"]), other), plan(makePort(["10.0.0.4"]), other));
  expect(changes).toMatchObject({ addAddresses: [], removeAddresses: [], close: [] });
  expect(changes.set.map(({ host }) => host)).toEqual(["10.96.0.7"]);
});

test("closes listeners and removes addresses of a deleted service", () => {
  expect(diffPlans(plan(makePort(["10.0.0.2"])), plan())).toEqual({
    addAddresses: [],
    removeAddresses: ["10.96.0.7"],
    set: [],
    close: ["TCP 10.96.0.7 80"],
  });
});

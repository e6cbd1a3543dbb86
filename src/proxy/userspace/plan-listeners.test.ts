import { expect, test } from "vitest";
import { makePort } from "../model/service-port.fixture.ts";
import type { ServicePort } from "../model/service-port.ts";
import { diffPlans, planListeners } from "./plan-listeners.ts";

const plan = (...ports: ServicePort[]) =>
  planListeners(new Map([["default/web", ports]]), {
    nodePortAddresses: ["127.0.0.1", "10.88.0.1", "192.0.2.1"],
    exposedAddresses: ["192.0.2.1"],
    podSubnets: ["10.88.0.0/16"],
  });

const balancerSpec = { type: "LoadBalancer", ports: [{ port: 80, protocol: "TCP", nodePort: 30_080 }] };
const balancerStatus = { loadBalancer: { ingress: [{ ip: "10.88.0.1", ipMode: "VIP" }] } };

test("plans a listener for each address, and addresses for those that the node does not have", () => {
  const { addresses, listeners } = plan(makePort(["10.0.0.2"], balancerSpec, balancerStatus));
  expect([...addresses]).toEqual(["10.96.0.7"]);
  expect([...listeners.keys()]).toEqual([
    "TCP 10.96.0.7 80",
    "TCP 10.88.0.1 80",
    "TCP 127.0.0.1 30080",
    "TCP 10.88.0.1 30080",
    "TCP 192.0.2.1 30080",
  ]);
});

test("serves other machines at exposed addresses and external IPs only", () => {
  const port = makePort(["10.0.0.2"], { ...balancerSpec, externalIPs: ["192.0.2.77"] }, balancerStatus);
  const served = [...plan(port).listeners].filter(([, { clients }]) => clients === "all");
  expect(served.map(([key]) => key)).toEqual(["TCP 192.0.2.77 80", "TCP 192.0.2.1 30080"]);
});

test("plans IPv6 addresses in the canonical form", () => {
  const port = makePort(["fd77::2"], { clusterIP: "fd96::7", externalIPs: ["2001:DB8:0::1"] });
  expect([...plan(port).addresses]).toEqual(["fd96::7", "2001:db8::1"]);
});

test("serves all clients if the subnets of pods are not known", () => {
  const exposure = { nodePortAddresses: [], exposedAddresses: [], podSubnets: undefined };
  const { listeners } = planListeners(new Map([["default/web", [makePort(["10.0.0.2"])]]]), exposure);
  expect(listeners.get("TCP 10.96.0.7 80")).toMatchObject({ clients: "all" });
});

test("limits the addresses of a load balancer to its source ranges", () => {
  const loadBalancerSourceRanges = ["198.51.100.0/24"];
  const spec = { ...balancerSpec, loadBalancerSourceRanges, externalIPs: ["10.88.0.1"] };
  const { listeners } = plan(makePort(["10.0.0.2"], spec, balancerStatus));
  const limited = [...listeners].filter(([, { sourceRanges }]) => sourceRanges.length > 0);
  expect(limited).toMatchObject([["TCP 10.88.0.1 80", { sourceRanges: loadBalancerSourceRanges }]]);
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

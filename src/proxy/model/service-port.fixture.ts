import type { EndpointSlice, Service } from "../../api/meta/objects.ts";
import { type PlanOptions, planService, type ServicePort } from "./service-port.ts";

export const here: PlanOptions = { node: { name: "here", zone: "a" }, externalIPs: "served" };

type Spec = NonNullable<Service["spec"]>;
type Endpoint = NonNullable<EndpointSlice["endpoints"]>[number];

export function makeService(spec: Spec = {}, status?: Service["status"]): Service {
  const clusterIP = spec.clusterIP ?? "10.96.0.7";
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "web", namespace: "default" },
    spec: { clusterIP, clusterIPs: [clusterIP], ports: [{ port: 80, protocol: "TCP" }], ...spec },
    status,
  };
}

export function makeSlice(endpoints: readonly Endpoint[], slice: Partial<EndpointSlice> = {}): EndpointSlice {
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: { name: "web-1", namespace: "default" },
    addressType: "IPv4",
    ports: [{ port: 8080, protocol: "TCP" }],
    endpoints: [...endpoints],
    ...slice,
  };
}

/** Service port with these endpoints, `isLocal` if their address ends in an odd number. */
export function makePort(
  addresses: readonly string[],
  spec: Spec = {},
  status?: Service["status"],
): ServicePort {
  const endpoints = addresses.map((address) => ({
    addresses: [address],
    nodeName: /[13579]$/.test(address) ? "here" : "there",
  }));
  const isIPv6 = spec.clusterIP?.includes(":");
  const protocol = spec.ports?.[0]?.protocol ?? "TCP";
  const slice = makeSlice(endpoints, {
    addressType: isIPv6 ? "IPv6" : "IPv4",
    ports: [{ port: 8080, protocol }],
  });
  const [port] = planService(makeService(spec, status), [slice], here).ports;
  if (!port) throw new Error("the service has no port");
  return port;
}

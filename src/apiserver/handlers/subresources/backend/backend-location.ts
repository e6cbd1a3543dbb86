import type * as k8s from "@kubernetes/client-node";
import type { Endpoints, Pod, Service } from "../../../../api/meta/objects.ts";
import { badRequest, serviceUnavailable } from "../../../../api/meta/status-error.ts";
import { isProxyable } from "../../../outgoing/address-rules.ts";

/** Server to which a request for `pods/proxy` or `services/proxy` is forwarded. */
export interface Backend {
  readonly scheme: "http" | "https";
  readonly host: string;
  readonly port: number;
}

/** Parts of the name in a request: `NAME`, `NAME:PORT` or `SCHEME:NAME:PORT`. */
export interface ProxyTarget {
  readonly scheme: "http" | "https";
  readonly name: string;
  /** Empty if the request names none. */
  readonly port: string;
}

/** Parses the name in a request for a proxy. Throws 400 if it is invalid. */
export function parseProxyTarget(kind: "node" | "pod" | "service", id: string): ProxyTarget {
  const parts = id.split(":");
  const [scheme = "", name = "", port = ""] = parts.length === 3 ? parts : ["", ...parts];
  const isKnown = scheme === "" || scheme === "http" || scheme === "https";
  if (!isKnown || name === "" || parts.length > 3)
    throw badRequest(`invalid ${kind} request ${JSON.stringify(id)}`);
  return { scheme: scheme || "http", name, port };
}

/** Backend of `pods/proxy`: the pod's address, and by default the first port that its containers declare. */
export function podBackend(pod: Pod, { scheme, port }: ProxyTarget): Backend {
  const declared = (pod.spec?.containers ?? []).flatMap(({ ports = [] }) => ports)[0]?.containerPort;
  const host = pod.status?.podIP ?? "";
  checkAddress(host);
  const fallback = declared ?? (scheme === "https" ? 443 : 80);
  return { scheme, host, port: port === "" ? fallback : parsePort(port) };
}

/** Name of the service port that a request names by its number or name. */
export function servicePortName(service: Service, port: string): string {
  if (!/^[0-9]+$/.test(port)) return port;
  const found = service.spec?.ports?.find((candidate) => candidate.port === Number(port));
  if (found) return found.name ?? "";
  const { name } = service.metadata;
  throw serviceUnavailable(`no service port ${port} found for service "${name}"`);
}

/** Ready address of a service with the port for it. */
export interface ServiceAddress {
  readonly address: k8s.V1EndpointAddress;
  readonly port: number;
}

/**
 * Addresses of a service's port, beginning at a random one (`random` is in [0, 1)). Throws 503 if the service has none.
 */
export function serviceAddresses(
  endpoints: Endpoints,
  { id, portName, random }: { id: string; portName: string; random: number },
): ServiceAddress[] {
  const found = (endpoints.subsets ?? []).flatMap(({ addresses = [], ports = [] }) => {
    const port = ports.find(({ name = "" }) => name === portName)?.port;
    return port === undefined ? [] : addresses.map((address) => ({ address, port }));
  });
  if (found.length === 0) throw noEndpoints(id);
  const start = Math.floor(random * found.length);
  return [...found.slice(start), ...found.slice(0, start)];
}

export function noEndpoints(id: string) {
  return serviceUnavailable(`no endpoints available for service "${id}"`);
}

/**
 * Whether an address of Endpoints is that of the pod that it refers to. Users may write Endpoints, and must not reach other
 * addresses through the API server.
 */
export function isAddressOfPod({ ip }: k8s.V1EndpointAddress, pod: Pod | undefined): boolean {
  return (pod?.status?.podIPs ?? []).some((podIP) => podIP.ip === ip);
}

/** Throws 400 for addresses of no other machine: loopback, link-local (metadata services), multicast, unspecified. */
export function checkAddress(address: string): void {
  if (address === "" || !isProxyable(address, { allowLoopback: false }))
    throw badRequest("address not allowed");
}

export function parsePort(port: string): number {
  const number = Number(port);
  if (/^[0-9]+$/.test(port) && number > 0 && number < 65_536) return number;
  throw serviceUnavailable(`error trying to reach service: dial tcp: lookup tcp/${port}: unknown port`);
}

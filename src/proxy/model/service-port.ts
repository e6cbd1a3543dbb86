import { isHeadless } from "../../api/kinds/core/service/addresses.ts";
import type { EndpointSlice, Service } from "../../api/meta/objects.ts";
import { cidrProblems, type IpFamily, ipFamilyOf, ipProblems } from "../../api/meta/validate-ip.ts";
import { type ChosenEndpoints, candidatesOf, chooseEndpoints, type ProxyNode } from "./choose-endpoints.ts";

export type Protocol = "TCP" | "UDP" | "SCTP";

/** One port of a service in one IP family: where it is reached, and where its connections go. */
export interface ServicePort {
  /** `namespace/name:port` */
  readonly name: string;
  readonly family: IpFamily;
  readonly protocol: Protocol;
  readonly clusterIP: string;
  readonly port: number;
  readonly nodePort: number | undefined;
  readonly externalIPs: readonly string[];
  readonly loadBalancerIPs: readonly string[];
  /** Clients that may use the load balancer addresses. Empty: all. */
  readonly sourceRanges: readonly string[];
  /** Timeout of session affinity by client IP. Undefined without affinity. */
  readonly affinitySeconds: number | undefined;
  readonly internalPolicy: "Cluster" | "Local";
  readonly externalPolicy: "Cluster" | "Local";
  readonly endpoints: ChosenEndpoints;
}

/** Health check port of a service with externalTrafficPolicy Local. */
export interface ServiceHealthCheck {
  readonly port: number;
  readonly namespace: string;
  readonly name: string;
  readonly localEndpoints: number;
}

export interface ServicePlan {
  readonly ports: readonly ServicePort[];
  readonly healthCheck: ServiceHealthCheck | undefined;
}

export interface PlanOptions {
  readonly node: ProxyNode;
  /** Whether `spec.externalIPs` are served: any user who may create services can claim any address with them. */
  readonly externalIPs: "served" | "ignored";
}

/** Label with which another proxy claims a service. */
const otherProxyLabel = "service.kubernetes.io/service-proxy-name";

/** Whether the proxy serves the service. Headless services and ExternalName have no address to serve. */
export function isProxied({ metadata, spec }: Service): boolean {
  if (!spec || spec.type === "ExternalName" || metadata.labels?.[otherProxyLabel] !== undefined) return false;
  return Boolean(spec.clusterIP) && !isHeadless(spec) && spec.clusterIP !== "None";
}

/** Plans one service with its slices. */
export function planService(
  service: Service,
  slices: readonly EndpointSlice[],
  { node, externalIPs }: PlanOptions,
): ServicePlan {
  const { spec } = service;
  if (!spec || !isProxied(service)) return { ports: [], healthCheck: undefined };
  const { namespace = "", name = "" } = service.metadata;
  const internalPolicy = spec.internalTrafficPolicy === "Local" ? "Local" : "Cluster";
  const externalPolicy = spec.externalTrafficPolicy === "Local" ? "Local" : "Cluster";
  const isExternal = spec.type === "NodePort" || spec.type === "LoadBalancer";
  const wantedIPs = externalIPs === "served" ? (spec.externalIPs ?? []) : [];
  const policies = {
    usesCluster: internalPolicy === "Cluster" || isExternal || wantedIPs.length > 0,
    usesLocal:
      internalPolicy === "Local" || (externalPolicy === "Local" && (isExternal || wantedIPs.length > 0)),
  };
  const affinitySeconds =
    spec.sessionAffinity === "ClientIP"
      ? (spec.sessionAffinityConfig?.clientIP?.timeoutSeconds ?? defaultAffinitySeconds)
      : undefined;
  const clusterIPs = spec.clusterIPs?.length ? spec.clusterIPs : [spec.clusterIP ?? ""];
  const localReady = new Set<string>();
  const ports = clusterIPs.flatMap((clusterIP): ServicePort[] => {
    const family = ipFamilyOf(clusterIP);
    if (!family || ipProblems(clusterIP).length > 0) return [];
    // Backends write addresses into commands: only valid ones may reach them.
    const ofFamily = (addresses: readonly string[]) =>
      addresses.filter((address) => ipFamilyOf(address) === family && ipProblems(address).length === 0);
    const loadBalancerIPs =
      spec.type === "LoadBalancer"
        ? (service.status?.loadBalancer?.ingress ?? []).flatMap(({ ip, ipMode }) =>
            ip && ipMode !== "Proxy" ? [ip] : [],
          )
        : [];
    return (spec.ports ?? []).map((port): ServicePort => {
      const portName = port.name ?? "";
      const protocol = (port.protocol ?? "TCP") as Protocol;
      const candidates = candidatesOf(slices, { name: portName, protocol, addressType: family }, node);
      for (const { address, isLocal, ready } of candidates) if (isLocal && ready) localReady.add(address);
      return {
        name: `${namespace}/${name}:${portName}`,
        family,
        protocol,
        clusterIP,
        port: port.port,
        nodePort: isExternal ? port.nodePort || undefined : undefined,
        externalIPs: ofFamily(wantedIPs),
        loadBalancerIPs: ofFamily(loadBalancerIPs),
        sourceRanges: (spec.loadBalancerSourceRanges ?? [])
          .map((range) => range.trim())
          .filter((range) => range.includes(":") === (family === "IPv6") && cidrProblems(range).length === 0),
        affinitySeconds,
        internalPolicy,
        externalPolicy,
        endpoints: chooseEndpoints(candidates, policies, node),
      };
    });
  });
  return { ports, healthCheck: healthCheckOf(service, localReady.size) };
}

const defaultAffinitySeconds = 10_800;

/** Terminating endpoints do not count: they serve connections that still arrive, but no new ones should. */
function healthCheckOf({ metadata, spec }: Service, localEndpoints: number): ServiceHealthCheck | undefined {
  const { namespace = "", name = "" } = metadata;
  const port = spec?.healthCheckNodePort;
  if (!port || spec?.externalTrafficPolicy !== "Local" || spec.type !== "LoadBalancer") return undefined;
  return { port, namespace, name, localEndpoints };
}

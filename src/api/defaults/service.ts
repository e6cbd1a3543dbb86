import type * as k8s from "@kubernetes/client-node";
import type { Wire } from "../objects.ts";

const clientIpTimeoutSeconds = 10_800;

export function defaultService(service: Wire<k8s.V1Service>): void {
  service.spec ??= {};
  const { spec } = service;
  spec.sessionAffinity ||= "None";
  if (spec.sessionAffinity === "None") delete spec.sessionAffinityConfig;
  else if (spec.sessionAffinity === "ClientIP") {
    spec.sessionAffinityConfig ??= {};
    spec.sessionAffinityConfig.clientIP ??= {};
    spec.sessionAffinityConfig.clientIP.timeoutSeconds ??= clientIpTimeoutSeconds;
  }
  spec.type ||= "ClusterIP";
  for (const port of spec.ports ?? []) {
    port.protocol ||= "TCP";
    port.targetPort ||= port.port;
  }
  if (isExternallyAccessible(spec)) spec.externalTrafficPolicy ||= "Cluster";
  if (spec.type !== "ExternalName") spec.internalTrafficPolicy ??= "Cluster";
  if (spec.type === "LoadBalancer") {
    spec.allocateLoadBalancerNodePorts ??= true;
    for (const ingress of service.status?.loadBalancer?.ingress ?? []) {
      if (ingress.ip) ingress.ipMode ??= "VIP";
    }
  }
}

export function isExternallyAccessible(spec: Wire<k8s.V1ServiceSpec>): boolean {
  if (spec.type === "LoadBalancer" || spec.type === "NodePort") return true;
  return spec.type === "ClusterIP" && (spec.externalIPs?.length ?? 0) > 0;
}

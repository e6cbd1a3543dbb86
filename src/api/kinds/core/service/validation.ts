import type * as k8s from "@kubernetes/client-node";
import { type FieldError, FieldErrors } from "../../../meta/field-errors.ts";
import {
  dnsLabelProblems,
  dnsSubdomainProblems,
  portNameProblems,
  portNumberProblems,
  qualifiedNameProblems,
} from "../../../meta/names.ts";
import type { ObjectMeta, Wire } from "../../../meta/objects.ts";
import { cidrProblems, ipProblems } from "../../../meta/validate-ip.ts";
import { validateLabels } from "../../../meta/validate-metadata.ts";
import { protocols } from "../../../pod/validation/container.ts";
import { endpointIpProblems } from "../endpoints/kind.ts";
import {
  isExternallyAccessible,
  isHeadless,
  needsHealthCheckNodePort,
  type ServiceSpec,
  validateClusterIps,
  validateClusterIpUpdate,
} from "./addresses.ts";

interface Service {
  readonly metadata: ObjectMeta;
  readonly spec?: ServiceSpec;
  readonly status?: Wire<k8s.V1ServiceStatus>;
}

export function validateService({ metadata, spec = {} }: Service, current?: Service): FieldError[] {
  const at = new FieldErrors("spec");
  const headless = isHeadless(spec);
  if (!spec.ports?.length && !headless && spec.type !== "ExternalName") at.required("ports");
  if (headless && (spec.type === "LoadBalancer" || spec.type === "NodePort")) {
    at.invalid("clusterIPs[0]", "None", `may not be set to 'None' for ${spec.type} services`);
  }
  if (spec.type === "ExternalName") validateExternalName(spec, at);
  if (spec.ports) validatePorts(spec.ports, at, spec.type);
  validateLabels(spec.selector, at.child("selector"));
  validateSessionAffinity(spec, at);
  if (spec.type !== "ExternalName") validateClusterIps(spec, at, current?.spec);
  spec.externalIPs?.forEach((address, i) => {
    const known = current?.spec?.externalIPs?.includes(address) ?? false;
    const problems = known ? [] : ipProblems(address);
    at.problems(`externalIPs[${i}]`, address, problems.length > 0 ? problems : endpointIpProblems(address));
  });
  at.requiredOneOf("type", spec.type, ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]);
  validateLoadBalancer(spec, at, metadata);
  validateTraffic(spec, at);
  return at.errors;
}

export function validateServiceUpdate(next: Service, current: Service): FieldError[] {
  const at = new FieldErrors("spec");
  const { spec = {} } = next;
  const { spec: before = {} } = current;
  validateClusterIpUpdate(spec, before, at);
  if (spec.type === "LoadBalancer" && before.type === "LoadBalancer") {
    if (spec.loadBalancerClass !== before.loadBalancerClass) {
      at.invalid("loadBalancerClass", spec.loadBalancerClass, "may not change once set");
    }
  }
  if (needsHealthCheckNodePort(spec) && needsHealthCheckNodePort(before)) {
    if (spec.healthCheckNodePort !== before.healthCheckNodePort) {
      at.forbidden("healthCheckNodePort", "field is immutable");
    }
  }
  return [...at.errors, ...validateService(next, current)];
}

function validateExternalName(spec: ServiceSpec, at: FieldErrors): void {
  const detail = "may not be set for ExternalName services";
  if (spec.clusterIPs?.length) at.forbidden("clusterIPs", detail);
  if (spec.ipFamilies?.length) at.forbidden("ipFamilies", detail);
  if (spec.ipFamilyPolicy !== undefined) at.forbidden("ipFamilyPolicy", detail);
  const name = (spec.externalName ?? "").replace(/\.$/, "");
  if (!name) at.required("externalName");
  else at.problems("externalName", name, dnsSubdomainProblems(name));
}

function validatePorts(ports: k8s.V1ServicePort[], at: FieldErrors, type: string | undefined): void {
  const names = new Set<string>();
  const taken = new Set<string>();
  const nodePorts = new Set<string>();
  at.each("ports", ports, (port, place) => {
    const { name, protocol, nodePort, targetPort = 0 } = port;
    if (name) {
      place.problems("name", name, dnsLabelProblems(name));
      if (names.has(name)) place.duplicate("name", name);
      names.add(name);
    } else if (ports.length > 1) {
      place.required("name");
    }
    place.problems("port", port.port, portNumberProblems(port.port));
    place.requiredOneOf("protocol", protocol, protocols);
    const targetProblems =
      typeof targetPort === "string" ? portNameProblems(targetPort) : portNumberProblems(targetPort);
    place.problems("targetPort", targetPort, targetProblems);
    if (port.appProtocol !== undefined) {
      place.problems("appProtocol", port.appProtocol, qualifiedNameProblems(port.appProtocol));
    }
    if (nodePort) {
      if (type === "ClusterIP") place.forbidden("nodePort", "may not be used when `type` is 'ClusterIP'");
      if (nodePorts.has(`${protocol}/${nodePort}`)) place.duplicate("nodePort", nodePort);
      nodePorts.add(`${protocol}/${nodePort}`);
    }
    if (taken.has(`${protocol}/${port.port}`)) place.duplicate("", { port: port.port, protocol });
    taken.add(`${protocol}/${port.port}`);
  });
}

const maxAffinitySeconds = 86_400;

function validateSessionAffinity(
  { sessionAffinity, sessionAffinityConfig }: ServiceSpec,
  at: FieldErrors,
): void {
  at.requiredOneOf("sessionAffinity", sessionAffinity, ["ClientIP", "None"]);
  if (sessionAffinity !== "ClientIP") return;
  const seconds = sessionAffinityConfig?.clientIP?.timeoutSeconds ?? 0;
  if (seconds <= 0 || seconds > maxAffinitySeconds) {
    const detail = `must be greater than 0 and less than ${maxAffinitySeconds}`;
    at.invalid("sessionAffinityConfig.clientIP.timeoutSeconds", seconds, detail);
  }
}

const sourceRangesAnnotation = "service.beta.kubernetes.io/load-balancer-source-ranges";

function validateLoadBalancer(spec: ServiceSpec, at: FieldErrors, metadata: ObjectMeta): void {
  const only = "may only be used when `type` is 'LoadBalancer'";
  const isLoadBalancer = spec.type === "LoadBalancer";
  const { loadBalancerSourceRanges: ranges, loadBalancerClass } = spec;
  if (ranges?.length) {
    if (!isLoadBalancer) at.forbidden("LoadBalancerSourceRanges", only);
    ranges.forEach((range, i) => {
      at.problems(`LoadBalancerSourceRanges[${i}]`, range.trim(), cidrProblems(range.trim()));
    });
  } else {
    const annotation = metadata.annotations?.[sourceRangesAnnotation];
    const place = new FieldErrors(`metadata.annotations[${sourceRangesAnnotation}]`, at.errors);
    if (annotation !== undefined && !isLoadBalancer) place.forbidden("", only);
    for (const range of annotation?.trim() ? annotation.split(",") : []) {
      place.problems("", range.trim(), cidrProblems(range.trim()));
    }
  }
  if (!isLoadBalancer) {
    if (spec.allocateLoadBalancerNodePorts !== undefined) at.forbidden("allocateLoadBalancerNodePorts", only);
    if (loadBalancerClass !== undefined) at.forbidden("loadBalancerClass", only);
  } else if (loadBalancerClass !== undefined) {
    at.problems("loadBalancerClass", loadBalancerClass, qualifiedNameProblems(loadBalancerClass));
  }
}

function validateTraffic(spec: ServiceSpec, at: FieldErrors): void {
  const { externalTrafficPolicy, healthCheckNodePort } = spec;
  if (isExternallyAccessible(spec)) {
    at.requiredOneOf("externalTrafficPolicy", externalTrafficPolicy, ["Cluster", "Local"]);
  } else if (externalTrafficPolicy) {
    const detail = "may only be set for externally-accessible services";
    at.invalid("externalTrafficPolicy", externalTrafficPolicy, detail);
  }
  if (needsHealthCheckNodePort(spec)) {
    if (!healthCheckNodePort) at.required("healthCheckNodePort");
    else at.problems("healthCheckNodePort", healthCheckNodePort, portNumberProblems(healthCheckNodePort));
  } else if (healthCheckNodePort) {
    const detail = "may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'";
    at.invalid("healthCheckNodePort", healthCheckNodePort, detail);
  }
  if (spec.type !== "ExternalName") {
    at.requiredOneOf("internalTrafficPolicy", spec.internalTrafficPolicy, ["Cluster", "Local"]);
  }
  const distributions = ["PreferClose", "PreferSameZone", "PreferSameNode"];
  at.oneOf("trafficDistribution", spec.trafficDistribution, distributions);
}

export function validateServiceStatusUpdate(next: Service, current: Service): FieldError[] {
  const at = new FieldErrors("status.loadBalancer");
  const ingress = next.status?.loadBalancer?.ingress;
  if (next.spec?.type !== "LoadBalancer") {
    if (ingress?.length) at.forbidden("ingress", "may only be used when `spec.type` is 'LoadBalancer'");
    return at.errors;
  }
  const known = new Set(current.status?.loadBalancer?.ingress?.map(({ ip }) => ip));
  at.each("ingress", ingress, ({ ip, ipMode, hostname }, place) => {
    if (ip && !known.has(ip)) place.problems("ip", ip, ipProblems(ip));
    if (ip && ipMode === undefined) place.required("ipMode", "must be specified when `ip` is set");
    else if (!ip && ipMode !== undefined) {
      place.forbidden("ipMode", "may not be specified when `ip` is not set");
    } else place.oneOf("ipMode", ipMode, ["Proxy", "VIP"]);
    if (!hostname) return;
    place.problems("hostname", hostname, dnsSubdomainProblems(hostname));
    if (ipProblems(hostname).length === 0) {
      place.invalid("hostname", hostname, "must be a DNS name, not an IP address");
    }
  });
  return at.errors;
}

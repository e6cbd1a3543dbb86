import { isExternallyAccessible } from "../../api/defaults/service.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { IpFamily } from "../../api/validation/ip.ts";
import { needsHealthCheckNodePort } from "../../api/validation/service.ts";
import { isHeadless, type ServiceSpec } from "../../api/validation/service-addresses.ts";
import { keepField } from "./prepare.ts";

/** Whether an address has to be found for a service before it is stored. */
export function needsClusterIP(spec: ServiceSpec): boolean {
  return spec.type !== "ExternalName" && !spec.clusterIP && !spec.clusterIPs?.length;
}

export function hasNodePorts({ type }: ServiceSpec): boolean {
  return type === "NodePort" || type === "LoadBalancer";
}

/** Whether ports without a node port have to be given one before the service is stored. */
export function allocatesNodePorts(spec: ServiceSpec): boolean {
  if (spec.type === "LoadBalancer") return spec.allocateLoadBalancerNodePorts !== false;
  return spec.type === "NodePort";
}

/** The families that a service gets when it names none, in a cluster that has addresses of one family. */
export function defaultIpFamilies(spec: ServiceSpec, family: IpFamily): void {
  if (spec.type === "ExternalName") return;
  // Where no selector says which pods there are, endpoints of either family may be added by hand.
  const open = isHeadless(spec) && !Object.keys(spec.selector ?? {}).length;
  if (open && !spec.ipFamilyPolicy && !spec.ipFamilies?.length) {
    const other = family === "IPv4" ? "IPv6" : "IPv4";
    Object.assign(spec, { ipFamilyPolicy: "RequireDualStack", ipFamilies: [family, other] });
  }
  spec.ipFamilyPolicy ??= "SingleStack";
  if (!spec.ipFamilies?.length) spec.ipFamilies = [family];
}

/** `clusterIP` is the old name for the first of `clusterIPs`: who knows only the old one is understood. */
export function normalizeClusterIPs(next: ServiceSpec, current: ServiceSpec | undefined): void {
  if (!current) {
    if (next.clusterIP && !next.clusterIPs?.length) next.clusterIPs = [next.clusterIP];
    return;
  }
  const sameList = isEqual(next.clusterIPs, current.clusterIPs);
  if (next.clusterIP === current.clusterIP) {
    if (!next.clusterIPs?.length) keepField(next, current, "clusterIPs");
  } else if (sameList) {
    if (next.clusterIP) next.clusterIPs = [next.clusterIP];
    else delete next.clusterIPs;
  }
}

/** Who leaves out what the server once chose means to keep it. */
export function keepAllocatedValues(next: ServiceSpec, current: ServiceSpec): void {
  if (next.type !== "ExternalName" && current.type !== "ExternalName") {
    if (!next.clusterIP) keepField(next, current, "clusterIP");
    if (!next.clusterIPs?.length) keepField(next, current, "clusterIPs");
    if (!next.ipFamilies?.length) keepField(next, current, "ipFamilies");
    if (!next.ipFamilyPolicy) keepField(next, current, "ipFamilyPolicy");
  }
  if (hasNodePorts(next) && hasNodePorts(current)) keepNodePorts(next, current);
  if (needsHealthCheckNodePort(next) && needsHealthCheckNodePort(current) && !next.healthCheckNodePort) {
    keepField(next, current, "healthCheckNodePort");
  }
}

function keepNodePorts(next: ServiceSpec, current: ServiceSpec): void {
  const wanted = new Set(next.ports?.map(({ nodePort }) => nodePort));
  const byName = new Map(current.ports?.map(({ name, nodePort }) => [name, nodePort]));
  for (const port of next.ports ?? []) {
    const before = byName.get(port.name);
    if (!port.nodePort && before && !wanted.has(before)) port.nodePort = before;
  }
}

/** A service of another type: what belonged to the old type goes, unless it was changed in the same breath. */
export function dropOtherTypesFields(next: ServiceSpec, current: ServiceSpec): void {
  const drop = (field: keyof ServiceSpec) => {
    if (isEqual(next[field], current[field])) delete next[field];
  };
  if (next.type === "ExternalName" && current.type !== "ExternalName") {
    const fields = [
      "clusterIP",
      "clusterIPs",
      "ipFamilies",
      "ipFamilyPolicy",
      "internalTrafficPolicy",
    ] as const;
    fields.forEach(drop);
  }
  if (hasNodePorts(current) && !hasNodePorts(next)) {
    const before = new Set(current.ports?.map(({ nodePort }) => nodePort));
    const added = next.ports?.some(({ nodePort }) => nodePort && !before.has(nodePort));
    if (!added) for (const port of next.ports ?? []) delete port.nodePort;
  }
  if (needsHealthCheckNodePort(current) && !needsHealthCheckNodePort(next)) drop("healthCheckNodePort");
  if (current.type === "LoadBalancer" && next.type !== "LoadBalancer") {
    drop("allocateLoadBalancerNodePorts");
    drop("loadBalancerClass");
  }
  if (isExternallyAccessible(current) && !isExternallyAccessible(next)) drop("externalTrafficPolicy");
}

import type * as k8s from "@kubernetes/client-node";
import type { FieldErrors } from "../../../meta/field-errors.ts";
import { isEqual } from "../../../meta/is-equal.ts";
import type { Wire } from "../../../meta/objects.ts";
import { type IpFamily, ipFamilyOf, ipProblems, isDualStack } from "../../../meta/validate-ip.ts";
import { keepField } from "../../strategy.ts";

/** Whether the service needs an allocated cluster IP. */
export function needsClusterIP(spec: ServiceSpec): boolean {
  return spec.type !== "ExternalName" && !spec.clusterIP && !spec.clusterIPs?.length;
}

export function hasNodePorts({ type }: ServiceSpec): boolean {
  return type === "NodePort" || type === "LoadBalancer";
}

/** Whether ports without a node port get an allocated one. */
export function allocatesNodePorts(spec: ServiceSpec): boolean {
  if (spec.type === "LoadBalancer") return spec.allocateLoadBalancerNodePorts !== false;
  return spec.type === "NodePort";
}

/** Sets the default IP families of a service in a single-stack cluster. */
export function defaultIpFamilies(spec: ServiceSpec, family: IpFamily): void {
  if (spec.type === "ExternalName") return;
  // Without a selector, users may add endpoints of either family.
  const open = isHeadless(spec) && !Object.keys(spec.selector ?? {}).length;
  if (open && !spec.ipFamilyPolicy && !spec.ipFamilies?.length) {
    const other = family === "IPv4" ? "IPv6" : "IPv4";
    Object.assign(spec, { ipFamilyPolicy: "RequireDualStack", ipFamilies: [family, other] });
  }
  spec.ipFamilyPolicy ??= "SingleStack";
  if (!spec.ipFamilies?.length) spec.ipFamilies = [family];
}

/** Sets `clusterIP` and `clusterIPs` from each other. `clusterIP` is the former name of the first of `clusterIPs`. */
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

/** Keeps allocated values that an update omits. */
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

/** Removes fields of the former type when the type changes, unless the update changes them too. */
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

export type ServiceSpec = Wire<k8s.V1ServiceSpec>;

/** Whether the service has no cluster IP, so that its name resolves to the addresses of its pods. */
export function isHeadless({ clusterIPs }: ServiceSpec): boolean {
  return clusterIPs?.length === 1 && clusterIPs[0] === "None";
}

/**
 * Validates `clusterIP` and `clusterIPs`. `clusterIP` is the former name of the first of `clusterIPs`, so they must
 * agree.
 */
export function validateClusterIps(
  spec: ServiceSpec,
  at: FieldErrors,
  current: ServiceSpec | undefined,
): void {
  const { clusterIP = "", clusterIPs = [], ipFamilies = [] } = spec;
  if (clusterIP !== "" && clusterIPs.length === 0) at.required("clusterIPs");
  else if (clusterIP !== "" && clusterIPs[0] !== clusterIP) {
    at.invalid("clusterIPs", clusterIPs, "first value must match `clusterIP`");
  } else if (clusterIP === "" && clusterIPs.length > 0) {
    at.invalid("clusterIPs", clusterIPs, "must be empty when `clusterIP` is not specified");
  }
  const families = new Set<string>();
  at.each("ipFamilies", ipFamilies, (family, place) => {
    place.oneOf("", family, ["IPv4", "IPv6"]);
    if (families.has(family)) place.duplicate("", family);
    families.add(family);
  });
  at.oneOf("ipFamilyPolicy", spec.ipFamilyPolicy, ["PreferDualStack", "RequireDualStack", "SingleStack"]);
  if (!validateEachAddress(clusterIPs, at, current?.clusterIPs ?? [])) return;
  if (clusterIPs.length > 1 && !isDualStack(clusterIPs)) {
    at.invalid("clusterIPs", clusterIPs, "may specify no more than one IP for each IP family");
  }
  if (isHeadless(spec)) return;
  clusterIPs.forEach((address, i) => {
    const family = ipFamilies[i];
    if (family === undefined || ipFamilyOf(address) === family) return;
    const detail = `expected an ${family} value as indicated by \`ipFamilies[${i}]\``;
    at.invalid(`clusterIPs[${i}]`, address, detail);
  });
}

/** Validates each address. Returns whether all are valid. */
function validateEachAddress(
  addresses: readonly string[],
  at: FieldErrors,
  known: readonly string[],
): boolean {
  const before = at.errors.length;
  addresses.forEach((address, i) => {
    if (i > 0 || address !== "None") {
      if (!known.includes(address)) at.problems(`clusterIPs[${i}]`, address, ipProblems(address));
    } else if (addresses.length > 1) {
      at.invalid("clusterIPs", addresses, "'None' must be the first and only value");
    }
  });
  const valid = at.errors.length === before;
  if (addresses.length > 2) at.invalid("clusterIPs", addresses, "may only hold up to 2 values");
  return valid;
}

/** Rejects changed addresses, because clients may cache them. Only the secondary address can be released. */
export function validateClusterIpUpdate(next: ServiceSpec, current: ServiceSpec, at: FieldErrors): void {
  if (next.type === "ExternalName" || current.type === "ExternalName") return;
  const headless = isHeadless(next);
  if (headless && isHeadless(current)) return;
  validateKept("clusterIPs", next, current, at);
  if (headless === isHeadless(current)) validateKept("ipFamilies", next, current, at);
}

function validateKept(
  field: "clusterIPs" | "ipFamilies",
  next: ServiceSpec,
  current: ServiceSpec,
  at: FieldErrors,
): void {
  const after = next[field] ?? [];
  const before = current[field] ?? [];
  const [one, what] =
    field === "clusterIPs" ? ["clusterIP", "secondary clusterIP"] : ["ipFamily", "secondary ipFamily"];
  if (before.length > 0 && after.length === 0)
    at.invalid(`${field}[0]`, after, `primary ${one} can not be unset`);
  after.forEach((value, i) => {
    if (i < before.length && value !== before[i])
      at.invalid(`${field}[${i}]`, after, "may not change once set");
  });
  if (before.length > after.length && after.length === 1 && next.ipFamilyPolicy !== "SingleStack") {
    const detail = `must be set to 'SingleStack' when releasing the ${what}`;
    at.invalid("ipFamilyPolicy", next.ipFamilyPolicy, detail);
  }
}

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

/**
 * Whether the service needs a health check node port, which shows load balancers whether a node has local endpoints.
 */
export function needsHealthCheckNodePort(spec: ServiceSpec): boolean {
  return spec.type === "LoadBalancer" && spec.externalTrafficPolicy === "Local";
}

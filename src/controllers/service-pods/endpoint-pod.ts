import type * as k8s from "@kubernetes/client-node";
import { isReady } from "../../api/conditions.ts";
import type { Container, Pod, Service, Wire } from "../../api/objects.ts";
import { isFinalPhase } from "../../api/pod-phase.ts";
import { isSidecar } from "../../api/pod-resources.ts";

export type ServicePort = Wire<k8s.V1ServicePort>;

/** On whatever stands for the addresses behind a service without an address of its own. */
export const headlessLabel = "service.kubernetes.io/headless";

/** Whether a service has an address of its own: a headless one has none. */
export function hasClusterIp({ spec }: Service): boolean {
  return Boolean(spec?.clusterIP) && spec?.clusterIP !== "None";
}

/** Whether the addresses behind a service are those of the pods that it selects. */
export function selectsPods({ spec }: Service): boolean {
  return spec?.type !== "ExternalName" && Object.keys(spec?.selector ?? {}).length > 0;
}

export function isSelected({ metadata }: Pod, { spec }: Service): boolean {
  return Object.entries(spec?.selector ?? {}).every(([key, value]) => metadata.labels?.[key] === value);
}

/** Whether a pod has an address behind which somebody is, or soon will be. */
export function hasAddress({ status }: Pod): boolean {
  return !isFinalPhase(status?.phase) && Boolean(status?.podIP || status?.podIPs?.length);
}

/** Of the pod's addresses, those of one family. */
export function addressesOf({ status }: Pod, family: string): string[] {
  const all = status?.podIPs?.length ? status.podIPs.map(({ ip }) => ip) : [status?.podIP ?? ""];
  return all.filter((ip) => ip !== "" && familyOf(ip) === family);
}

export function familyOf(ip: string): "IPv4" | "IPv6" {
  return ip.includes(":") ? "IPv6" : "IPv4";
}

/** The name under which DNS knows the pod within its service. */
export function hostnameIn({ metadata, spec }: Pod, service: Service): string | undefined {
  const isWithin =
    spec?.subdomain === service.metadata.name && metadata.namespace === service.metadata.namespace;
  return isWithin && spec?.hostname ? spec.hostname : undefined;
}

/** The number of a service's port at a pod; undefined when the pod has no port of that name. */
export function findPort({ spec }: Pod, { port, targetPort = port, protocol = "TCP" }: ServicePort) {
  if (typeof targetPort === "number") return targetPort;
  const sidecars = spec?.initContainers?.filter(isSidecar) ?? [];
  const offers = ({ ports }: Container) =>
    ports?.find((offered) => offered.name === targetPort && (offered.protocol ?? "TCP") === protocol);
  for (const container of [...(spec?.containers ?? []), ...sidecars]) {
    const found = offers(container);
    if (found) return found.containerPort;
  }
  return undefined;
}

/** Whether two versions of a pod differ in anything that services go by. */
export function looksDifferent(pod: Pod, previous: Pod): boolean {
  return fingerprint(pod) !== fingerprint(previous);
}

function fingerprint(pod: Pod): string {
  const { metadata, spec, status } = pod;
  return JSON.stringify([
    metadata.labels,
    metadata.deletionTimestamp !== undefined,
    spec?.nodeName,
    spec?.hostname,
    spec?.subdomain,
    status?.podIP,
    status?.podIPs,
    isFinalPhase(status?.phase),
    isReady(pod),
  ]);
}

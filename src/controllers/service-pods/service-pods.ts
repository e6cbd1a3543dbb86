import type * as k8s from "@kubernetes/client-node";
import { isReady } from "../../api/meta/object-facts.ts";
import type { Container, Pod, Service, Wire } from "../../api/meta/objects.ts";
import { isSidecar } from "../../api/pod/pod-resources.ts";
import { isFinalPhase } from "../../api/pod/pod-state.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { Informers } from "../shared/informers.ts";

/** Registers informer handlers that add the keys of services that change or whose pods change. */
export function watchServicePods(informers: Informers, queue: { add(key: string): void }): void {
  const services = informers.of("services");

  function addServicesOf(pod: Pod): void {
    for (const service of services.byIndex("namespace", pod.metadata.namespace ?? "")) {
      if (selectsPods(service) && isSelected(pod, service)) queue.add(keyOf(service));
    }
  }

  services.onChange(({ object }) => queue.add(keyOf(object)));
  informers.of("pods").onChange((change) => {
    if (change.kind === "changed") {
      if (!endpointChanged(change.object, change.previous)) return;
      // A label change may have removed it from a service.
      addServicesOf(change.previous);
    }
    addServicesOf(change.object);
  });
}

/** Pods that a service selects, sorted by name. */
export function podsOf(informers: Informers, service: Service): Pod[] {
  return informers
    .of("pods")
    .byIndex("namespace", service.metadata.namespace ?? "")
    .filter((pod) => isSelected(pod, service))
    .sort((a, b) => ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
}

export type ServicePort = Wire<k8s.V1ServicePort>;

/** Label on the Endpoints and EndpointSlices of headless services. */
export const headlessLabel = "service.kubernetes.io/headless";

/** Whether a service has a cluster IP. A headless service has none. */
export function hasClusterIp({ spec }: Service): boolean {
  return Boolean(spec?.clusterIP) && spec?.clusterIP !== "None";
}

/** Whether the endpoints of a service are the pods that it selects. */
export function selectsPods({ spec }: Service): boolean {
  return spec?.type !== "ExternalName" && Object.keys(spec?.selector ?? {}).length > 0;
}

function isSelected({ metadata }: Pod, { spec }: Service): boolean {
  return Object.entries(spec?.selector ?? {}).every(([key, value]) => metadata.labels?.[key] === value);
}

/** Whether the pod has an address and has not terminated. */
export function hasAddress({ status }: Pod): boolean {
  return !isFinalPhase(status?.phase) && Boolean(status?.podIP || status?.podIPs?.length);
}

/** Addresses of a pod in one address family. */
export function addressesOf({ status }: Pod, family: string): string[] {
  const all = status?.podIPs?.length ? status.podIPs.map(({ ip }) => ip) : [status?.podIP ?? ""];
  return all.filter((ip) => ip !== "" && familyOf(ip) === family);
}

export function familyOf(ip: string): "IPv4" | "IPv6" {
  return ip.includes(":") ? "IPv6" : "IPv4";
}

/** Hostname of the pod in the service's DNS subdomain. */
export function hostnameIn({ metadata, spec }: Pod, service: Service): string | undefined {
  const isWithin =
    spec?.subdomain === service.metadata.name && metadata.namespace === service.metadata.namespace;
  return isWithin && spec?.hostname ? spec.hostname : undefined;
}

/** Target port of a service port at a pod. Undefined if the pod has no port with that name. */
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

/** Whether two versions of a pod differ in a field that endpoints depend on. */
function endpointChanged(pod: Pod, previous: Pod): boolean {
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

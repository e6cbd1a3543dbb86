import type { EndpointSlice, Pod, Service } from "../../api/meta/objects.ts";
import { canonicalAddress } from "./addresses.ts";

/** Objects of the cluster that records are derived from, with the lookups that `resolve` needs. */
export interface RecordView {
  service(namespace: string, name: string): Service | undefined;
  slicesOf(namespace: string, service: string): readonly EndpointSlice[];
  hasServices(namespace: string): boolean;
  servicesAt(clusterIp: string): readonly Service[];
  /** Slices that have an endpoint with this address. */
  slicesAt(address: string): readonly EndpointSlice[];
  hasPods(namespace: string): boolean;
  hasPodAt(namespace: string, address: string): boolean;
}

interface Indexed<T> {
  get(key: string): T | undefined;
  byIndex(index: string, value: string): readonly T[];
}

/** Indexes that informers need for a record view. */
export const serviceIndexes = {
  namespace: ({ metadata }: Service) => [metadata.namespace ?? ""],
  clusterIp: (service: Service) => clusterIpsOf(service),
};

export const sliceIndexes = {
  service: ({ metadata: { namespace, labels } }: EndpointSlice) => [
    `${namespace}/${labels?.[serviceNameLabel] ?? ""}`,
  ],
  address: ({ endpoints }: EndpointSlice) =>
    (endpoints ?? []).flatMap(({ addresses }) => addresses.flatMap((text) => canonicalAddress(text) ?? [])),
};

export const podIndexes = {
  namespace: ({ metadata }: Pod) => [metadata.namespace ?? ""],
  address: (pod: Pod) => podAddresses(pod).map((address) => `${pod.metadata.namespace}/${address}`),
};

export const serviceNameLabel = "kubernetes.io/service-name";

export function createRecordView({
  services,
  slices,
  pods,
}: {
  readonly services: Indexed<Service>;
  readonly slices: Indexed<EndpointSlice>;
  readonly pods: Indexed<Pod>;
}): RecordView {
  return {
    service: (namespace, name) => services.get(`${namespace}/${name}`),
    slicesOf: (namespace, service) => slices.byIndex("service", `${namespace}/${service}`),
    hasServices: (namespace) => services.byIndex("namespace", namespace).length > 0,
    servicesAt: (clusterIp) => services.byIndex("clusterIp", clusterIp),
    slicesAt: (address) => slices.byIndex("address", address),
    hasPods: (namespace) => pods.byIndex("namespace", namespace).length > 0,
    hasPodAt: (namespace, address) => pods.byIndex("address", `${namespace}/${address}`).length > 0,
  };
}

/** Cluster IPs in canonical form. Empty for headless and ExternalName services. */
export function clusterIpsOf({ spec }: Service): string[] {
  if (spec?.type === "ExternalName") return [];
  const all = spec?.clusterIPs ?? (spec?.clusterIP ? [spec.clusterIP] : []);
  return all.flatMap((text) => canonicalAddress(text) ?? []);
}

/** Addresses of a pod in canonical form. A pod that has ended no longer has any. */
export function podAddresses({ status }: Pod): string[] {
  if (status?.phase === "Succeeded" || status?.phase === "Failed") return [];
  const ips = status?.podIPs?.map(({ ip }) => ip) ?? (status?.podIP ? [status.podIP] : []);
  return ips.flatMap((text) => canonicalAddress(text ?? "") ?? []);
}

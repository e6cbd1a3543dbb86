import type * as k8s from "@kubernetes/client-node";
import { isEqual } from "../../api/meta/is-equal.ts";
import { isReady } from "../../api/meta/object-facts.ts";
import type { Endpoints, Pod, Service, Wire } from "../../api/meta/objects.ts";
import {
  addressesOf,
  familyOf,
  findPort,
  hasAddress,
  hasClusterIp,
  headlessLabel,
  hostnameIn,
} from "../service-pods/service-pods.ts";

type EndpointAddress = Wire<k8s.V1EndpointAddress>;
type EndpointPort = Wire<k8s.CoreV1EndpointPort>;

export const managedByLabel = "endpoints.kubernetes.io/managed-by";
const overCapacityAnnotation = "endpoints.kubernetes.io/over-capacity";

export type EndpointsAction =
  | { readonly kind: "none" }
  | { readonly kind: "create" | "update"; readonly endpoints: Endpoints };

/** Decides whether to create or update the Endpoints object of a service. */
export function decideEndpoints(
  service: Service,
  pods: readonly Pod[],
  current: Endpoints | undefined,
): EndpointsAction {
  const { subsets, truncated } = truncateSubsets(collectSubsets(service, pods));
  const labels = {
    ...service.metadata.labels,
    ...(!hasClusterIp(service) && { [headlessLabel]: "" }),
    [managedByLabel]: "endpoint-controller",
  };
  const { [overCapacityAnnotation]: before, ...others } = current?.metadata.annotations ?? {};
  const isSame =
    current &&
    isEqual(current.subsets ?? [], subsets) &&
    isEqual(current.metadata.labels, labels) &&
    before === (truncated ? "truncated" : undefined);
  if (isSame) return { kind: "none" };
  const { name, namespace } = service.metadata;
  const annotations = { ...others, ...(truncated && { [overCapacityAnnotation]: "truncated" }) };
  const endpoints: Endpoints = {
    apiVersion: "v1",
    kind: "Endpoints",
    metadata: { name, namespace, ...current?.metadata, labels, annotations },
    subsets,
  };
  return { kind: current ? "update" : "create", endpoints };
}

/** Groups addresses by their ports. */
function collectSubsets(service: Service, pods: readonly Pod[]): EndpointSubset[] {
  const { publishNotReadyAddresses = false, ports: servicePorts = [] } = service.spec ?? {};
  const byPorts = new Map<string, EndpointSubset>();
  for (const pod of pods) {
    if (!hasAddress(pod) || (pod.metadata.deletionTimestamp && !publishNotReadyAddresses)) continue;
    const address = addressFor(pod, service);
    const ports = portsAt(pod, service);
    // Only a headless service may have no ports.
    const isUseful = ports.length > 0 || (servicePorts.length === 0 && service.spec?.clusterIP === "None");
    if (!address || !isUseful) continue;
    const key = JSON.stringify(ports);
    const subset = byPorts.get(key) ?? { ...(ports.length > 0 && { ports }) };
    byPorts.set(key, subset);
    const field = publishNotReadyAddresses || isReady(pod) ? "addresses" : "notReadyAddresses";
    subset[field] = [...(subset[field] ?? []), address];
  }
  return [...byPorts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([, { addresses, notReadyAddresses, ports }]) => ({
      ...(addresses && { addresses: addresses.sort(byAddress) }),
      ...(notReadyAddresses && { notReadyAddresses: notReadyAddresses.sort(byAddress) }),
      ...(ports && { ports }),
    }));
}

function addressFor(pod: Pod, service: Service): EndpointAddress | undefined {
  const { metadata, spec, status } = pod;
  const clusterIp = hasClusterIp(service) ? (service.spec?.clusterIP ?? "") : (status?.podIP ?? "");
  const [ip] = addressesOf(pod, service.spec?.ipFamilies?.[0] ?? familyOf(clusterIp));
  if (!ip) return undefined;
  const hostname = hostnameIn(pod, service);
  const { namespace, name, uid } = metadata;
  return {
    ip,
    ...(hostname && { hostname }),
    ...(spec?.nodeName && { nodeName: spec.nodeName }),
    targetRef: { kind: "Pod", namespace, name, uid },
  };
}

function portsAt(pod: Pod, service: Service): EndpointPort[] {
  return (service.spec?.ports ?? [])
    .flatMap((servicePort) => {
      const port = findPort(pod, servicePort);
      const { name, protocol = "TCP", appProtocol } = servicePort;
      return port === undefined
        ? []
        : [{ ...(name && { name }), port, protocol, ...(appProtocol && { appProtocol }) }];
    })
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
}

function byAddress(a: EndpointAddress, b: EndpointAddress): number {
  return a.ip < b.ip ? -1 : a.ip > b.ip ? 1 : (a.targetRef?.uid ?? "") < (b.targetRef?.uid ?? "") ? -1 : 1;
}

type EndpointSubset = Wire<k8s.V1EndpointSubset>;

/** Maximum number of addresses, as upstream; EndpointSlices hold the rest. */
const maxAddresses = 1_000;

/** Truncates the subsets in proportion, addresses that are not ready first. */
function truncateSubsets(subsets: readonly EndpointSubset[]): {
  readonly subsets: EndpointSubset[];
  readonly truncated: boolean;
} {
  const count = (field: "addresses" | "notReadyAddresses") =>
    subsets.reduce((sum, subset) => sum + (subset[field]?.length ?? 0), 0);
  const ready = count("addresses");
  const notReady = count("notReadyAddresses");
  if (ready + notReady <= maxAddresses) return { subsets: [...subsets], truncated: false };

  const field = ready > maxAddresses ? "addresses" : "notReadyAddresses";
  const capacity = field === "addresses" ? maxAddresses : maxAddresses - ready;
  const total = field === "addresses" ? ready : notReady;
  let left = capacity;
  const cut = subsets.map(({ addresses = [], notReadyAddresses = [], ports }): EndpointSubset => {
    const all = field === "addresses" ? addresses : notReadyAddresses;
    const kept = all.slice(0, Math.min(left, Math.ceil((all.length / total) * capacity)));
    left -= kept.length;
    const rest = field === "addresses" ? { addresses: kept } : { addresses, notReadyAddresses: kept };
    return {
      ...Object.fromEntries(Object.entries(rest).filter(([, list]) => list.length > 0)),
      ...(ports && { ports }),
    };
  });
  return { subsets: cut.filter((subset) => subset.addresses ?? subset.notReadyAddresses), truncated: true };
}

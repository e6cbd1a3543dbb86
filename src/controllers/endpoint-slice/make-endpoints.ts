import type * as k8s from "@kubernetes/client-node";
import { isReady } from "../../api/meta/object-facts.ts";
import type { EndpointSlice, Node, Pod, Service, Wire } from "../../api/meta/objects.ts";
import {
  addressesOf,
  familyOf,
  findPort,
  hasAddress,
  hasClusterIp,
  hostnameIn,
} from "../service-pods/service-pods.ts";

export type Endpoint = Wire<k8s.V1Endpoint>;
export type SlicePort = Wire<k8s.DiscoveryV1EndpointPort>;
export type AddressType = EndpointSlice["addressType"];

const zoneLabel = "topology.kubernetes.io/zone";

export interface EndpointFacts {
  readonly service: Service;
  readonly pods: readonly Pod[];
  node(name: string): Node | undefined;
}

/** Endpoints with the same ports, by key. */
export interface PortGroup {
  readonly ports: readonly SlicePort[];
  readonly endpoints: Map<string, Endpoint>;
}

/** Desired endpoints of one address type, grouped by ports, and the reasons why pods were omitted. */
export function makeEndpoints(
  { service, pods, node }: EndpointFacts,
  addressType: AddressType,
): { readonly groups: ReadonlyMap<string, PortGroup>; readonly problems: readonly string[] } {
  const groups = new Map<string, PortGroup>();
  const problems: string[] = [];
  const { namespace, name } = service.metadata;
  for (const pod of pods) {
    const { nodeName = "" } = pod.spec ?? {};
    const addresses = hasAddress(pod) ? addressesOf(pod, addressType) : [];
    if (addresses.length === 0) continue;
    // The pod is about to be garbage collected, or its node is not in the cache yet.
    if (!node(nodeName) && !service.spec?.publishNotReadyAddresses) {
      problems.push(
        `skipping Pod ${pod.metadata.name} for Service ${namespace}/${name}: Node ${nodeName} Not Found`,
      );
      continue;
    }
    const ports = portsAt(pod, service);
    const key = portsKey(ports);
    const group = groups.get(key) ?? { ports, endpoints: new Map() };
    groups.set(key, group);
    const endpoint = toEndpoint({ pod, service, addresses, node: node(nodeName) });
    group.endpoints.set(endpointKey(endpoint), endpoint);
  }
  return { groups, problems };
}

function toEndpoint({
  pod,
  service,
  addresses,
  node,
}: {
  pod: Pod;
  service: Service;
  addresses: string[];
  node: Node | undefined;
}): Endpoint {
  const serving = isReady(pod);
  const terminating = pod.metadata.deletionTimestamp !== undefined;
  const ready = service.spec?.publishNotReadyAddresses === true || (serving && !terminating);
  const hostname = hostnameIn(pod, service);
  const zone = node?.metadata.labels?.[zoneLabel];
  const { nodeName } = pod.spec ?? {};
  const hints = ready ? hintsFor(service, { nodeName, zone }) : undefined;
  const { namespace, name, uid } = pod.metadata;
  return {
    addresses,
    conditions: { ready, serving, terminating },
    ...(hostname && { hostname }),
    targetRef: { kind: "Pod", namespace, name, uid },
    ...(nodeName && { nodeName }),
    ...(zone && { zone }),
    ...(hints && { hints }),
  };
}

/** Hints with which `trafficDistribution` keeps traffic in the zone or on the node of the endpoint. */
function hintsFor(
  { metadata: { annotations = {} }, spec }: Service,
  { nodeName, zone }: { readonly nodeName: string | undefined; readonly zone: string | undefined },
): Endpoint["hints"] {
  // As upstream, this annotation takes precedence. Its hints need several zones.
  const mode = annotations[deprecatedTopologyModeAnnotation] ?? annotations[topologyModeAnnotation];
  if (!spec?.trafficDistribution || mode === "Auto" || mode === "auto") return undefined;
  const forNode = spec.trafficDistribution === "PreferSameNode" && nodeName;
  if (!zone && !forNode) return undefined;
  return {
    ...(zone && { forZones: [{ name: zone }] }),
    ...(forNode && { forNodes: [{ name: forNode }] }),
  };
}

const topologyModeAnnotation = "service.kubernetes.io/topology-mode";
const deprecatedTopologyModeAnnotation = "service.kubernetes.io/topology-aware-hints";

export function endpointKey({ addresses, targetRef }: Endpoint): string {
  return `${targetRef?.uid} ${addresses.join()}`;
}

function portsAt(pod: Pod, service: Service): SlicePort[] {
  return (service.spec?.ports ?? []).flatMap((servicePort) => {
    const port = findPort(pod, servicePort);
    const { name = "", protocol = "TCP", appProtocol } = servicePort;
    return port === undefined ? [] : [{ name, port, protocol, ...(appProtocol && { appProtocol }) }];
  });
}

/** Key that is equal for equal ports in any order. */
export function portsKey(ports: readonly SlicePort[] = []): string {
  const texts = ports.map(({ name = "", port, protocol = "TCP", appProtocol }) =>
    JSON.stringify([name, port, protocol, appProtocol]),
  );
  return texts.sort().join();
}

/** Address types of a service's slices. */
export function addressTypesOf(service: Service): readonly AddressType[] {
  const { ipFamilies = [], clusterIP = "" } = service.spec ?? {};
  if (ipFamilies.length > 0) return ipFamilies as AddressType[];
  // Headless services without ipFamilies have the address families of their pods.
  return hasClusterIp(service) ? [familyOf(clusterIP)] : ["IPv4", "IPv6"];
}

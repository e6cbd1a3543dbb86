import { isEqual } from "../../api/meta/is-equal.ts";
import type { EndpointSlice, Endpoints, Service } from "../../api/meta/objects.ts";
import { ipFamilyOf } from "../../api/meta/validate-ip.ts";

export const mirrorName = "endpointslicemirroring-controller.k8s.io";
export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
export const serviceNameLabel = "kubernetes.io/service-name";

const skipLabel = "endpointslice.kubernetes.io/skip-mirror";
const leaderAnnotation = "control-plane.alpha.kubernetes.io/leader";
/** Annotations that are not copied. */
const ownAnnotations = [
  "kubectl.kubernetes.io/last-applied-configuration",
  "endpoints.kubernetes.io/over-capacity",
];
/** Maximum number of endpoints that are mirrored for each subset, as upstream. */
const maxEndpointsPerSubset = 1_000;

/** Slices to write so that they mirror an Endpoints object. */
export interface MirrorPlan {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

/** Whether Endpoints are mirrored: those that users write for a service without a selector. */
export function isMirrored(endpoints: Endpoints | undefined, service: Service | undefined): boolean {
  if (!endpoints || !service || Object.keys(service.spec?.selector ?? {}).length > 0) return false;
  const { labels, annotations, deletionTimestamp } = endpoints.metadata;
  if (deletionTimestamp !== undefined || service.metadata.deletionTimestamp !== undefined) return false;
  return labels?.[skipLabel] !== "true" && annotations?.[leaderAnnotation] === undefined;
}

/** Decides how the slices change. Existing slices of the same family and ports are reused. */
export function decideMirror(
  endpoints: Endpoints | undefined,
  service: Service | undefined,
  current: readonly EndpointSlice[],
): MirrorPlan {
  const wanted = endpoints && isMirrored(endpoints, service) ? slicesFor(endpoints) : [];
  const rest = [...current];
  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  for (const slice of wanted) {
    const index = rest.findIndex(
      (other) => other.addressType === slice.addressType && isEqual(other.ports ?? [], slice.ports ?? []),
    );
    const [known] = index === -1 ? [] : rest.splice(index, 1);
    if (!known) create.push(slice);
    else if (!isUpToDate(known, slice)) {
      const { labels, annotations } = slice.metadata;
      update.push({
        ...known,
        metadata: { ...known.metadata, labels, annotations },
        endpoints: slice.endpoints,
      });
    }
  }
  return { create, update, remove: rest };
}

function isUpToDate(known: EndpointSlice, wanted: EndpointSlice): boolean {
  return (
    isEqual(known.endpoints ?? [], wanted.endpoints ?? []) &&
    isEqual(known.metadata.labels ?? {}, wanted.metadata.labels ?? {}) &&
    isEqual(known.metadata.annotations ?? {}, wanted.metadata.annotations ?? {})
  );
}

function slicesFor({ metadata, subsets = [] }: Endpoints): EndpointSlice[] {
  const { name = "", namespace, uid = "", labels, annotations = {} } = metadata;
  const copied = Object.entries(annotations).filter(([key]) => !ownAnnotations.includes(key));
  const slices: EndpointSlice[] = [];
  for (const { addresses = [], notReadyAddresses = [], ports = [] } of subsets) {
    const all = [
      ...addresses.map((address) => ({ address, ready: true })),
      ...notReadyAddresses.map((address) => ({ address, ready: false })),
    ].slice(0, maxEndpointsPerSubset);
    for (const family of ["IPv4", "IPv6"] as const) {
      const found = all.filter(({ address }) => ipFamilyOf(address.ip) === family);
      if (found.length === 0) continue;
      slices.push({
        apiVersion: "discovery.k8s.io/v1",
        kind: "EndpointSlice",
        metadata: {
          generateName: `${name}-`,
          namespace,
          labels: { ...labels, [serviceNameLabel]: name, [managedByLabel]: mirrorName },
          annotations: Object.fromEntries(copied),
          ownerReferences: [
            { apiVersion: "v1", kind: "Endpoints", name, uid, controller: true, blockOwnerDeletion: true },
          ],
        },
        addressType: family,
        ports: ports.map(({ name: portName = "", port, protocol = "TCP", appProtocol }) => ({
          name: portName,
          port,
          protocol,
          ...(appProtocol !== undefined && { appProtocol }),
        })),
        endpoints: found.map(({ address: { ip, hostname, nodeName, targetRef }, ready }) => ({
          addresses: [ip],
          conditions: { ready },
          ...(hostname && { hostname }),
          ...(nodeName && { nodeName }),
          ...(targetRef && { targetRef }),
        })),
      });
    }
  }
  return slices;
}

import { controllerOf, controllerReference } from "../../api/controller-reference.ts";
import { isEqual } from "../../api/is-equal.ts";
import { dnsSubdomainProblems } from "../../api/names.ts";
import type { EndpointSlice, Service } from "../../api/objects.ts";
import { hasClusterIp, headlessLabel } from "../service-pods/endpoint-pod.ts";
import {
  type AddressType,
  addressTypesOf,
  makeEndpoints,
  type PodFacts,
  portsKey,
  type SlicePort,
} from "./make-endpoints.ts";
import { packGroup } from "./pack-group.ts";

export const serviceNameLabel = "kubernetes.io/service-name";
export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
export const controllerName = "endpointslice-controller.k8s.io";

export interface SlicePlan {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
  /** Why some pods are left out. */
  readonly problems: readonly string[];
}

/** Brings a service's slices to what its pods are, with as few writes as upstream makes. */
export function decideSlices(facts: PodFacts, slices: readonly EndpointSlice[]): SlicePlan {
  const wanted = addressTypesOf(facts.service);
  const plans = wanted.map((type) =>
    decideForType(
      facts,
      type,
      slices.filter(({ addressType }) => addressType === type),
    ),
  );
  return {
    create: plans.flatMap(({ create }) => create),
    update: plans.flatMap(({ update }) => update),
    remove: [
      ...slices.filter(({ addressType }) => !wanted.includes(addressType)),
      ...plans.flatMap(({ remove }) => remove),
    ],
    problems: plans.flatMap(({ problems }) => problems),
  };
}

function decideForType(
  facts: PodFacts,
  addressType: AddressType,
  slices: readonly EndpointSlice[],
): SlicePlan {
  const { service } = facts;
  const { groups, problems } = makeEndpoints(facts, addressType);
  const labels = labelsFor(service);
  const isOwned = (slice: EndpointSlice) => controllerOf(slice)?.uid === service.metadata.uid;
  const newSlice = (ports: readonly SlicePort[]) => makeSlice({ service, addressType, ports, labels });

  const create: EndpointSlice[] = [];
  const update: EndpointSlice[] = [];
  const remove = slices.filter((slice) => !isOwned(slice) || !groups.has(portsKey(slice.ports)));
  for (const [key, group] of groups) {
    const existing = slices.filter((slice) => isOwned(slice) && portsKey(slice.ports) === key);
    const packed = packGroup(group, existing, { labels, newSlice });
    create.push(...packed.create);
    update.push(...packed.update);
    remove.push(...packed.remove);
  }
  if (remove.length === slices.length && create.length === 0) {
    // An empty slice says that somebody has looked, and found nobody.
    const placeholder = newSlice([]);
    const same = remove.findIndex((slice) => isOwned(slice) && isPlaceholder(slice, labels));
    if (same >= 0 && remove.length === 1) remove.splice(same, 1);
    else create.push(placeholder);
  }
  reuse({ create, update, remove, isOwned });
  return { create, update, remove, problems };
}

/** Slices that would go take the content of those that would come: one write instead of two. */
function reuse({
  create,
  update,
  remove,
  isOwned,
}: {
  create: EndpointSlice[];
  update: EndpointSlice[];
  remove: EndpointSlice[];
  isOwned: (slice: EndpointSlice) => boolean;
}): void {
  for (let at = 0; at < remove.length; ) {
    const old = remove[at];
    const made = old && isOwned(old) ? create.pop() : undefined;
    if (!old || !made) {
      at++;
      continue;
    }
    remove.splice(at, 1);
    update.push({
      ...old,
      metadata: { ...old.metadata, labels: made.metadata.labels },
      ports: made.ports,
      endpoints: made.endpoints,
    });
  }
}

function isPlaceholder(
  { endpoints, ports, metadata }: EndpointSlice,
  labels: Readonly<Record<string, string>>,
): boolean {
  return !endpoints?.length && !ports?.length && isEqual(metadata.labels, labels);
}

/** The service's own, with those that lead back to it. */
function labelsFor(service: Service): Record<string, string> {
  const { [headlessLabel]: _, ...own } = service.metadata.labels ?? {};
  return {
    ...own,
    ...(!hasClusterIp(service) && { [headlessLabel]: "" }),
    [serviceNameLabel]: service.metadata.name ?? "",
    [managedByLabel]: controllerName,
  };
}

function makeSlice({
  service,
  addressType,
  ports,
  labels,
}: {
  service: Service;
  addressType: AddressType;
  ports: readonly SlicePort[];
  labels: Readonly<Record<string, string>>;
}): EndpointSlice {
  const { namespace, name = "" } = service.metadata;
  const prefix = `${name}-`;
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      namespace,
      // A name that would be too long with the dash does without it.
      generateName: dnsSubdomainProblems(`${prefix}0`).length === 0 ? prefix : name,
      labels: { ...labels },
      ownerReferences: [controllerReference(service)],
    },
    addressType,
    ports: [...ports],
    endpoints: [],
  };
}

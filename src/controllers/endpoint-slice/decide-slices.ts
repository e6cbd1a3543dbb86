import { isEqual } from "../../api/meta/is-equal.ts";
import { dnsSubdomainProblems } from "../../api/meta/names.ts";
import { controllerOf, controllerReference } from "../../api/meta/object-facts.ts";
import type { EndpointSlice, Service } from "../../api/meta/objects.ts";
import { hasClusterIp, headlessLabel } from "../service-pods/service-pods.ts";
import {
  type AddressType,
  addressTypesOf,
  type Endpoint,
  type EndpointFacts,
  endpointKey,
  makeEndpoints,
  type PortGroup,
  portsKey,
  type SlicePort,
} from "./make-endpoints.ts";

export const serviceNameLabel = "kubernetes.io/service-name";
export const managedByLabel = "endpointslice.kubernetes.io/managed-by";
export const controllerName = "endpointslice-controller.k8s.io";

export interface SlicePlan {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
  /** Reasons why pods were omitted. */
  readonly problems: readonly string[];
}

/** Decides the writes that bring the slices of a service up to date, with as few writes as upstream. */
export function decideSlices(facts: EndpointFacts, slices: readonly EndpointSlice[]): SlicePlan {
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
  facts: EndpointFacts,
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
    // An empty slice shows that the service has been processed and has no endpoints.
    const placeholder = newSlice([]);
    const same = remove.findIndex((slice) => isOwned(slice) && isPlaceholder(slice, labels));
    if (same >= 0 && remove.length === 1) remove.splice(same, 1);
    else create.push(placeholder);
  }
  reuse({ create, update, remove, isOwned });
  return { create, update, remove, problems };
}

/** Reuses slices that would be deleted for those that would be created: one write instead of two. */
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

/** Labels of the service, its name and the managing controller. */
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
      // The dash is omitted if the name would be too long with it.
      generateName: dnsSubdomainProblems(`${prefix}0`).length === 0 ? prefix : name,
      labels: { ...labels },
      ownerReferences: [controllerReference(service)],
    },
    addressType,
    ports: [...ports],
    endpoints: [],
  };
}

/** Maximum number of endpoints per slice, as upstream. */
const maxEndpoints = 100;

interface Packing {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

/** Slice with its next endpoints. */
interface Draft {
  readonly slice: EndpointSlice;
  readonly endpoints: Endpoint[];
}

/**
 * Distributes the endpoints of one port group over slices. New endpoints go first into slices that must change anyway,
 * then into one slice with capacity for all that remain, then into new slices. Other slices are not rewritten even if
 * they are half empty, because every write is sent to every node.
 */
function packGroup(
  { ports, endpoints }: PortGroup,
  existing: readonly EndpointSlice[],
  given: {
    readonly labels: Readonly<Record<string, string>>;
    newSlice(ports: readonly SlicePort[]): EndpointSlice;
  },
): Packing {
  const wanted = new Map(endpoints);
  const unchanged: Draft[] = [];
  const changed: Draft[] = [];
  const remove: EndpointSlice[] = [];
  for (const slice of existing) {
    const draft = { slice, endpoints: takeExisting(slice, wanted) };
    if (draft.endpoints.length === 0) remove.push(slice);
    else if (isUnchanged(draft, given.labels)) unchanged.push(draft);
    else changed.push(draft);
  }

  const queue = [...wanted.values()];
  const fill = ({ endpoints: held }: Draft) => held.push(...queue.splice(0, maxEndpoints - held.length));
  for (const draft of changed.sort((a, b) => b.endpoints.length - a.endpoints.length)) fill(draft);
  const create: EndpointSlice[] = [];
  while (queue.length > 0) {
    const fitting = takeFullestFitting(unchanged, queue.length);
    const draft = fitting ?? { slice: given.newSlice(ports), endpoints: [] };
    fill(draft);
    if (fitting) changed.push(draft);
    else create.push({ ...draft.slice, endpoints: draft.endpoints });
  }
  return { create, update: changed.map((draft) => finish(draft, given.labels)), remove };
}

/** Removes from `wanted` the endpoints that the slice already has, and returns their desired state. */
function takeExisting({ endpoints = [] }: EndpointSlice, wanted: Map<string, Endpoint>): Endpoint[] {
  return (endpoints ?? []).flatMap((endpoint) => {
    const key = endpointKey(endpoint);
    const own = wanted.get(key);
    wanted.delete(key);
    return own ?? [];
  });
}

function isUnchanged({ slice, endpoints }: Draft, labels: Readonly<Record<string, string>>): boolean {
  return (
    isEqual(slice.metadata.labels, labels) &&
    isEqual((slice.endpoints ?? []).map(compared), endpoints.map(compared))
  );
}

/** Fields that this controller manages; others are ignored in comparisons. */
function compared({ addresses, conditions, hostname, nodeName, zone, hints, targetRef }: Endpoint) {
  const { kind, namespace, name, uid } = targetRef ?? {};
  return { addresses, conditions, hostname, nodeName, zone, hints, kind, namespace, name, uid };
}

/** Takes the fullest slice with capacity for `count` more endpoints. */
function takeFullestFitting(drafts: Draft[], count: number): Draft | undefined {
  const fitting = drafts.filter(({ endpoints }) => endpoints.length + count <= maxEndpoints);
  const [fullest] = fitting.sort((a, b) => b.endpoints.length - a.endpoints.length);
  if (fullest) drafts.splice(drafts.indexOf(fullest), 1);
  return fullest;
}

function finish({ slice, endpoints }: Draft, labels: Readonly<Record<string, string>>): EndpointSlice {
  return { ...slice, metadata: { ...slice.metadata, labels: { ...labels } }, endpoints };
}

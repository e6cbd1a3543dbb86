import { isEqual } from "../../api/is-equal.ts";
import type { EndpointSlice } from "../../api/objects.ts";
import { type Endpoint, endpointKey, type PortGroup, type SlicePort } from "./make-endpoints.ts";

/** As many endpoints as upstream puts into a slice. */
const maxEndpoints = 100;

interface Packing {
  readonly create: readonly EndpointSlice[];
  readonly update: readonly EndpointSlice[];
  readonly remove: readonly EndpointSlice[];
}

/** A slice while it is being packed. */
interface Draft {
  readonly slice: EndpointSlice;
  readonly endpoints: Endpoint[];
}

/**
 * Fits the endpoints of one set of ports into slices. Those that must change anyway take in the new ones first; then one
 * that has room for all that is left; then new slices. Others stay as they are, even if they are half empty: every write
 * goes to every node.
 */
export function packGroup(
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
    const draft = { slice, endpoints: takeOwn(slice, wanted) };
    if (draft.endpoints.length === 0) remove.push(slice);
    else if (holds(draft, given.labels)) unchanged.push(draft);
    else changed.push(draft);
  }

  const queue = [...wanted.values()];
  const fill = ({ endpoints: held }: Draft) => held.push(...queue.splice(0, maxEndpoints - held.length));
  for (const draft of changed.sort((a, b) => b.endpoints.length - a.endpoints.length)) fill(draft);
  const create: EndpointSlice[] = [];
  while (queue.length > 0) {
    const roomy = takeRoomiest(unchanged, queue.length);
    const draft = roomy ?? { slice: given.newSlice(ports), endpoints: [] };
    fill(draft);
    if (roomy) changed.push(draft);
    else create.push({ ...draft.slice, endpoints: draft.endpoints });
  }
  return { create, update: changed.map((draft) => finish(draft, given.labels)), remove };
}

/** What a slice holds already of what is wanted, as it should be now. */
function takeOwn({ endpoints = [] }: EndpointSlice, wanted: Map<string, Endpoint>): Endpoint[] {
  return (endpoints ?? []).flatMap((endpoint) => {
    const key = endpointKey(endpoint);
    const own = wanted.get(key);
    wanted.delete(key);
    return own ?? [];
  });
}

function holds({ slice, endpoints }: Draft, labels: Readonly<Record<string, string>>): boolean {
  return (
    isEqual(slice.metadata.labels, labels) &&
    isEqual((slice.endpoints ?? []).map(compared), endpoints.map(compared))
  );
}

/** What counts in a comparison: other fields are somebody else's. */
function compared({ addresses, conditions, hostname, nodeName, zone, targetRef }: Endpoint) {
  const { kind, namespace, name, uid } = targetRef ?? {};
  return { addresses, conditions, hostname, nodeName, zone, kind, namespace, name, uid };
}

/** The fullest one that still has room for all. */
function takeRoomiest(drafts: Draft[], count: number): Draft | undefined {
  const fitting = drafts.filter(({ endpoints }) => endpoints.length + count <= maxEndpoints);
  const [fullest] = fitting.sort((a, b) => b.endpoints.length - a.endpoints.length);
  if (fullest) drafts.splice(drafts.indexOf(fullest), 1);
  return fullest;
}

function finish({ slice, endpoints }: Draft, labels: Readonly<Record<string, string>>): EndpointSlice {
  return { ...slice, metadata: { ...slice.metadata, labels: { ...labels } }, endpoints };
}

import { isReady } from "../../api/meta/object-facts.ts";
import type { Event, Node, Pod } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import type { ListOptions, ObjectTypes, ResourceName, Selection } from "../../client/api/client.ts";
import type { PodFacts } from "../../explain/explanation.ts";
import type { GatherDeps } from "./gather-facts.ts";

/** Facts about the pods that are not ready, with what the caller may not read. */
export interface UnreadyPods {
  readonly pods: readonly PodFacts[];
  /** Number of selected pods, ready or not. */
  readonly total: number;
  readonly unreadable: readonly string[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/**
 * Reads the pods that are neither ready nor completed, with their events and nodes. Kubelets, claims and logs are not
 * read, so that the cost does not grow with the number of broken pods.
 */
export async function gatherUnready(
  { client, clock }: GatherDeps,
  { namespace, labelSelector }: Pick<Selection, "namespace" | "labelSelector">,
  signal: AbortSignal,
): Promise<UnreadyPods> {
  const unreadable: string[] = [];
  const readable = async <T>(what: string, request: Promise<readonly T[]>) => {
    try {
      return await request;
    } catch (error) {
      if (!(error instanceof StatusError) || error.code !== 403) throw error;
      unreadable.push(what);
      return undefined;
    }
  };
  const list = <Name extends ResourceName>(resource: Name, options: ListOptions = {}) =>
    listAll({ client }, resource, { ...options, signal });
  const pods = await list("pods", { namespace, labelSelector });
  const unready = pods.filter((pod) => !isReady(pod) && pod.status?.phase !== "Succeeded");
  const [events, nodes] =
    unready.length === 0
      ? [[], []]
      : await Promise.all([
          readable("events", list("events", { namespace, fieldSelector: "involvedObject.kind=Pod" })),
          readable("nodes", list("nodes")),
        ]);
  const now = clock.now();
  const eventsByUid = new Map<string, Event[]>();
  for (const event of events ?? []) {
    const { uid = "" } = event.involvedObject;
    const known = eventsByUid.get(uid);
    if (known) known.push(event);
    else eventsByUid.set(uid, [event]);
  }
  return {
    pods: unready.map((pod) => factsOf(pod, { eventsByUid, nodes, now })),
    total: pods.length,
    unreadable,
    now,
  };
}

function factsOf(
  pod: Pod,
  {
    eventsByUid,
    nodes,
    now,
  }: { eventsByUid: ReadonlyMap<string, Event[]>; nodes: readonly Node[] | undefined; now: number },
): PodFacts {
  const name = pod.spec?.nodeName;
  const node = nodes?.find(({ metadata }) => metadata.name === name);
  return {
    pod,
    events: eventsByUid.get(pod.metadata.uid ?? "") ?? [],
    pulls: [],
    budgets: [],
    advice: [],
    ...(name && nodes && { node: node ? { kind: "found", object: node } : { kind: "missing" } }),
    now,
  };
}

const pageSize = 500;

async function listAll<Name extends ResourceName>(
  { client }: Pick<GatherDeps, "client">,
  resource: Name,
  options: ListOptions,
): Promise<readonly ObjectTypes[Name][]> {
  const items: ObjectTypes[Name][] = [];
  let page = await client.list(resource, { ...options, limit: pageSize });
  items.push(...page.items);
  while (page.continue) {
    page = await client.list(resource, { ...options, limit: pageSize, continue: page.continue });
    items.push(...page.items);
  }
  return items;
}

import { isReady } from "../../api/meta/object-facts.ts";
import type { Event, Node, StatefulSet } from "../../api/meta/objects.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import type { Client } from "../../client/api/client.ts";
import { createInformer, type Informer } from "../../client/informers/informer.ts";
import { unstickAnnotation } from "../../explain/rollout-policy.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Monitor } from "../tracking/monitor.ts";
import { watchEvents } from "../tracking/watched-objects.ts";
import type { NodeView, SloView } from "./feed-message.ts";

/** Watches of objects that the dashboard shows but the monitor does not track. */
export interface FeedSources {
  readonly sets: Informer<StatefulSet>;
  readonly nodes: Informer<Node>;
  run(signal: AbortSignal): Promise<void>;
}

interface FeedSourcesDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called for events that are not about pods; the monitor watches those. */
  onEvent(event: Event): void;
}

export function createFeedSources({ client, clock, logger, onEvent }: FeedSourcesDeps): FeedSources {
  const common = { client, clock, logger };
  const sets = createInformer({ ...common, resource: "statefulsets", trim: trimSet });
  const nodes = createInformer({ ...common, resource: "nodes", trim: trimNode });
  const events = { ...common, fieldSelector: "involvedObject.kind!=Pod", onEvent };
  return {
    sets,
    nodes,
    async run(signal) {
      await Promise.all([sets.run(signal), nodes.run(signal), watchEvents(events, signal)]);
    },
  };
}

function trimSet({ apiVersion, kind, metadata, spec, status }: StatefulSet): StatefulSet {
  const { name, namespace, uid, resourceVersion, deletionTimestamp, finalizers } = metadata;
  const unstick = metadata.annotations?.[unstickAnnotation];
  const annotations = unstick === undefined ? undefined : { [unstickAnnotation]: unstick };
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, deletionTimestamp, finalizers, annotations },
    spec: spec && { ...spec, selector: {}, template: {}, volumeClaimTemplates: [] },
    status,
  };
}

/** Drops most of the node, above all its list of images. */
function trimNode({ apiVersion, kind, metadata, status }: Node): Node {
  const { name, uid, resourceVersion } = metadata;
  const conditions = status?.conditions?.filter(({ type }) => type === "Ready");
  return {
    apiVersion,
    kind,
    metadata: { name, uid, resourceVersion },
    status: { conditions, nodeInfo: status?.nodeInfo },
  };
}

/** Lists that are sent as a whole when they change, at a limited rate. */
export interface PeriodicLists {
  /** JSON of the lists that are due and have changed. */
  takeChanges(now: number): { readonly nodes: string | undefined; readonly slos: string | undefined };
  texts(): { readonly nodes: string; readonly slos: string };
  clear(): void;
}

interface PeriodicListsDeps {
  readonly monitor: Pick<Monitor, "pods" | "starting">;
  readonly nodes: { list(): Iterable<Node> };
  slos(): readonly SloView[];
}

const intervalMs = 1_000;
/** Additional interval per node: the list of 5,000 nodes is sent every ten seconds. */
const intervalMsPerNode = 2;

export function createPeriodicLists({ monitor, nodes, slos }: PeriodicListsDeps): PeriodicLists {
  let nodeList = periodicList(() => viewNodes(nodes.list(), monitor), intervalMsPerNode);
  let sloList = periodicList(slos, 0);
  return {
    takeChanges: (now) => ({ nodes: nodeList.take(now), slos: sloList.take(now) }),
    texts: () => ({ nodes: nodeList.text(), slos: sloList.text() }),
    clear() {
      nodeList = periodicList(() => viewNodes(nodes.list(), monitor), intervalMsPerNode);
      sloList = periodicList(slos, 0);
    },
  };
}

function periodicList(read: () => readonly unknown[], intervalMsPerItem: number) {
  let text = "[]";
  let nextMs = 0;
  return {
    text: () => text,
    take(now: number): string | undefined {
      if (now < nextMs) return undefined;
      const list = read();
      nextMs = now + Math.max(intervalMs, list.length * intervalMsPerItem);
      const before = text;
      text = JSON.stringify(list);
      return text === before ? undefined : text;
    },
  };
}

function viewNodes(nodes: Iterable<Node>, monitor: PeriodicListsDeps["monitor"]): readonly NodeView[] {
  const pods = new Map<string, number>();
  const starting = new Map<string, number>();
  for (const pod of monitor.pods()) if (!hasEnded(pod)) count(pods, pod.spec?.nodeName);
  for (const { start } of monitor.starting()) count(starting, start.pod.node);
  return [...nodes]
    .map((node) => {
      const name = node.metadata.name ?? "";
      return viewNode(node, { pods: pods.get(name) ?? 0, starting: starting.get(name) ?? 0 });
    })
    .sort((a, b) => a.name.localeCompare(b.name, "en", { numeric: true }));
}

function count(counts: Map<string, number>, key: string | undefined): void {
  if (key !== undefined) counts.set(key, (counts.get(key) ?? 0) + 1);
}

export function viewNode(node: Node, counts: Pick<NodeView, "pods" | "starting">): NodeView {
  const { nodeInfo } = node.status ?? {};
  return {
    name: node.metadata.name ?? "",
    ready: isReady(node),
    ...counts,
    runtime: nodeInfo?.containerRuntimeVersion ?? "",
    kubelet: nodeInfo?.kubeletVersion ?? "",
  };
}

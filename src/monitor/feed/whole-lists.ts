import type { Node } from "../../api/objects.ts";
import { hasEnded } from "../../api/pod-phase.ts";
import type { Monitor } from "../monitor.ts";
import type { NodeView, SloView } from "./feed-message.ts";
import { viewNode } from "./view/view-node.ts";

/** What is sent whole whenever something in it has changed, and therefore not too often. */
export interface WholeLists {
  /** JSON of the lists that changed, where it is time to look. */
  takeChanges(now: number): { readonly nodes: string | undefined; readonly slos: string | undefined };
  texts(): { readonly nodes: string; readonly slos: string };
  clear(): void;
}

interface WholeListsDeps {
  readonly monitor: Pick<Monitor, "pods" | "starting">;
  readonly nodes: { list(): Iterable<Node> };
  slos(): readonly SloView[];
}

const everyMs = 1_000;
/** A cluster of 5,000 nodes is told of every ten seconds. */
const everyMsForEachNode = 2;

export function createWholeLists({ monitor, nodes, slos }: WholeListsDeps): WholeLists {
  let nodesNow = slowList(() => viewNodes(nodes.list(), monitor), everyMsForEachNode);
  let slosNow = slowList(slos, 0);
  return {
    takeChanges: (now) => ({ nodes: nodesNow.take(now), slos: slosNow.take(now) }),
    texts: () => ({ nodes: nodesNow.text(), slos: slosNow.text() }),
    clear() {
      nodesNow = slowList(() => viewNodes(nodes.list(), monitor), everyMsForEachNode);
      slosNow = slowList(slos, 0);
    },
  };
}

function slowList(read: () => readonly unknown[], everyMsForEach: number) {
  let text = "[]";
  let nextMs = 0;
  return {
    text: () => text,
    take(now: number): string | undefined {
      if (now < nextMs) return undefined;
      const list = read();
      nextMs = now + Math.max(everyMs, list.length * everyMsForEach);
      const before = text;
      text = JSON.stringify(list);
      return text === before ? undefined : text;
    },
  };
}

function viewNodes(nodes: Iterable<Node>, monitor: WholeListsDeps["monitor"]): readonly NodeView[] {
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

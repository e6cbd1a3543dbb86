import type { Node } from "../api/objects.ts";
import type { Labels } from "../api/selector.ts";
import { type UsedPorts, usePort } from "./host-ports.ts";
import type { PodInfo } from "./pod-info.ts";
import { type Allocatable, addResources, noResources, type Resources, readAllocatable } from "./resources.ts";

/** A node with what its pods take, kept up as they come and go. */
export interface NodeInfo {
  readonly name: string;
  readonly node: Node;
  readonly labels: Labels;
  readonly allocatable: Allocatable;
  readonly requested: Resources;
  readonly likely: { cpu: number; memory: number };
  readonly pods: Set<PodInfo>;
  readonly usedPorts: UsedPorts;
  /** Bytes of the images that are there, by each of their names. */
  readonly images: ReadonlyMap<string, number>;
}

export function createNodeInfo(node: Node, pods: Iterable<PodInfo>): NodeInfo {
  const info: NodeInfo = {
    name: node.metadata.name ?? "",
    node,
    labels: node.metadata.labels,
    allocatable: readAllocatable(node.status?.allocatable),
    requested: noResources(),
    likely: { cpu: 0, memory: 0 },
    pods: new Set(),
    usedPorts: new Map(),
    images: readImages(node),
  };
  for (const pod of pods) addPodToNode(info, pod);
  return info;
}

export function addPodToNode(info: NodeInfo, pod: PodInfo): void {
  info.pods.add(pod);
  count(info, pod, 1);
}

export function removePodFromNode(info: NodeInfo, pod: PodInfo): void {
  if (info.pods.delete(pod)) count(info, pod, -1);
}

function count({ requested, likely, usedPorts }: NodeInfo, pod: PodInfo, sign: 1 | -1): void {
  addResources(requested, pod.requests, sign);
  likely.cpu += sign * pod.likely.cpu;
  likely.memory += sign * pod.likely.memory;
  for (const port of pod.hostPorts) usePort(usedPorts, port, sign);
}

function readImages({ status }: Node): ReadonlyMap<string, number> {
  const images = new Map<string, number>();
  for (const { names = [], sizeBytes = 0 } of status?.images ?? []) {
    for (const name of names) images.set(name, sizeBytes);
  }
  return images;
}

/** The value of a label, if there is one: labels can have the names of what every object has. */
export function labelOf(labels: Labels, key: string): string | undefined {
  return labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

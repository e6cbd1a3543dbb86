import type { Node } from "../../api/meta/objects.ts";
import type { Labels } from "../../api/meta/selector.ts";
import { type UsedPorts, usePort } from "../../api/pod/host-ports.ts";
import { type Taint, type Toleration, toleratesTaint } from "../../api/pod/node-matcher.ts";
import {
  type Allocatable,
  addResources,
  noResources,
  type PodInfo,
  type Resources,
  readAllocatable,
} from "./pod-info.ts";

/** Node with the totals of its pods. */
export interface NodeInfo {
  readonly name: string;
  readonly node: Node;
  readonly labels: Labels;
  readonly allocatable: Allocatable;
  readonly requested: Resources;
  readonly nonZeroRequests: { cpu: number; memory: number };
  readonly pods: Set<PodInfo>;
  readonly usedPorts: UsedPorts;
  /** Image sizes in bytes, by image name. */
  readonly images: ReadonlyMap<string, number>;
}

export function createNodeInfo(node: Node, pods: Iterable<PodInfo>): NodeInfo {
  const info: NodeInfo = {
    name: node.metadata.name ?? "",
    node,
    labels: node.metadata.labels,
    allocatable: readAllocatable(node.status?.allocatable),
    requested: noResources(),
    nonZeroRequests: { cpu: 0, memory: 0 },
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

function count({ requested, nonZeroRequests, usedPorts }: NodeInfo, pod: PodInfo, sign: 1 | -1): void {
  addResources(requested, pod.requests, sign);
  nonZeroRequests.cpu += sign * pod.nonZeroRequests.cpu;
  nonZeroRequests.memory += sign * pod.nonZeroRequests.memory;
  for (const port of pod.hostPorts) usePort(usedPorts, port, sign);
}

function readImages({ status }: Node): ReadonlyMap<string, number> {
  const images = new Map<string, number>();
  for (const { names = [], sizeBytes = 0 } of status?.images ?? []) {
    for (const name of names) images.set(name, sizeBytes);
  }
  return images;
}

/** Own property `key` of the labels. Keys such as `constructor` are valid label names. */
export function labelOf(labels: Labels, key: string): string | undefined {
  return labels && Object.hasOwn(labels, key) ? labels[key] : undefined;
}

/** Finds the first NoSchedule or NoExecute taint that is not tolerated. */
export function findUntolerated(
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
): Taint | undefined {
  return taints?.find(
    (taint) =>
      (taint.effect === "NoSchedule" || taint.effect === "NoExecute") && !tolerates(tolerations, taint),
  );
}

export function tolerates(tolerations: readonly Toleration[] | undefined, taint: Taint): boolean {
  return tolerations?.some((toleration) => toleratesTaint(toleration, taint)) ?? false;
}

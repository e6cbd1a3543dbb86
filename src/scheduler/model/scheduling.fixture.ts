import type {
  Node,
  PersistentVolume,
  PersistentVolumeClaim,
  Pod,
  StorageClass,
} from "../../api/meta/objects.ts";
import { classOf } from "../../api/pod/volume-binding.ts";
import { type Choice, chooseNode } from "../cycle/choose-node.ts";
import { type ClusterState, createClusterState } from "./cluster-state.ts";
import type { ApiObjects } from "./informers.ts";
import { describePod } from "./pod-info.ts";

type PodParts = Partial<NonNullable<Pod["spec"]>> & {
  name?: string;
  namespace?: string;
  labels?: Record<string, string>;
  requests?: Record<string, string>;
  metadata?: Partial<Pod["metadata"]>;
  status?: Pod["status"];
};

export function makePod({ name = "web", namespace = "default", ...parts }: PodParts = {}): Pod {
  const { labels, requests, metadata, status, ...spec } = parts;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace, uid: `uid-${namespace}-${name}`, labels, ...metadata },
    spec: {
      containers: [{ name: "main", image: "app:1", ...(requests && { resources: { requests } }) }],
      ...spec,
    },
    ...(status && { status }),
  };
}

type NodeParts = Partial<NonNullable<Node["spec"]>> & {
  labels?: Record<string, string>;
  allocatable?: Record<string, string>;
  images?: NonNullable<Node["status"]>["images"];
};

export function makeNode(name: string, { labels, allocatable, images, ...spec }: NodeParts = {}): Node {
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name, labels: { "kubernetes.io/hostname": name, ...labels } },
    spec,
    status: { allocatable: { cpu: "4", memory: "8Gi", pods: "110", ...allocatable }, images },
  };
}

export interface Cluster {
  nodes?: readonly Node[];
  /** Pods by the name of their node. */
  pods?: Readonly<Record<string, readonly Pod[]>>;
  claims?: readonly PersistentVolumeClaim[];
  volumes?: readonly PersistentVolume[];
  classes?: readonly StorageClass[];
  namespaces?: Readonly<Record<string, Record<string, string>>>;
  objects?: Partial<ApiObjects>;
}

export function makeObjects(cluster: Cluster): ApiObjects {
  const { claims = [], volumes = [], classes = [], namespaces = {} } = cluster;
  const named = <T extends { metadata: { name?: string; namespace?: string } }>(list: readonly T[]) =>
    new Map(
      list.map((each) => [[each.metadata.namespace, each.metadata.name].filter(Boolean).join("/"), each]),
    );
  const [byClaim, byVolume, byClass] = [named(claims), named(volumes), named(classes)];
  return {
    namespaces: () => Object.entries(namespaces).map(([name, labels]) => ({ name, labels })),
    namespaceLabels: (name) => namespaces[name],
    claim: (key) => byClaim.get(key),
    volume: (name) => byVolume.get(name),
    volumesOfClass: (className) => volumes.filter((volume) => classOf(volume) === className),
    storageClass: (name) => byClass.get(name),
    servicesIn: () => [],
    replicaSet: () => undefined,
    statefulSet: () => undefined,
    ...cluster.objects,
  };
}

export function makeState(cluster: Cluster): ClusterState {
  const state = createClusterState(makeObjects(cluster));
  for (const node of cluster.nodes ?? []) state.putNode(node);
  for (const [nodeName, pods] of Object.entries(cluster.pods ?? {})) {
    for (const pod of pods) state.placePod(describePod(pod), nodeName);
  }
  return state;
}

/** Chooses a node. Of nodes with equal scores the first one wins. */
export function choose(pod: Pod, cluster: Cluster, startAt = 0): Choice {
  return chooseNode(describePod(pod), makeState(cluster), { random: () => 0.99, startAt });
}

/** Name of the chosen node, or the message when there is none. */
export function outcome(pod: Pod, cluster: Cluster): string {
  const choice = choose(pod, cluster);
  return choice.kind === "node" ? choice.nodeName : choice.message;
}

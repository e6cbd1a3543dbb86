import type {
  PersistentVolume,
  PersistentVolumeClaim,
  ReplicaSet,
  Service,
  StatefulSet,
  StorageClass,
} from "../../api/meta/objects.ts";
import type { Labels } from "../../api/meta/selector.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodQuery, TermGroups } from "./pod-counts.ts";

/** State that scheduling decisions read. It does not change during a decision. */
export interface Snapshot {
  /** All nodes, round-robin over zones. */
  readonly nodes: readonly NodeInfo[];
  node(name: string): NodeInfo | undefined;
  /** Number of matching pods, by node name. */
  count(query: PodQuery): ReadonlyMap<string, number>;
  /** Affinity terms of the pods that are bound to nodes. */
  readonly terms: TermGroups;
  /** Number of nodes that have an image. */
  imageSpread(image: string): number;
  isClaimInUse(claimKey: string): boolean;
  readonly objects: ApiObjects;
}

/** Read access to API objects, by `namespace/name` or name. */
export interface ApiObjects {
  namespaces(): Iterable<{ readonly name: string; readonly labels: Labels }>;
  namespaceLabels(name: string): Labels;
  claim(key: string): PersistentVolumeClaim | undefined;
  volume(name: string): PersistentVolume | undefined;
  volumesOfClass(className: string): readonly PersistentVolume[];
  storageClass(name: string): StorageClass | undefined;
  servicesIn(namespace: string): readonly Service[];
  replicaSet(key: string): ReplicaSet | undefined;
  statefulSet(key: string): StatefulSet | undefined;
}

import type {
  PersistentVolume,
  PersistentVolumeClaim,
  ReplicaSet,
  Service,
  StatefulSet,
  StorageClass,
} from "../api/objects.ts";
import type { Labels } from "../api/selector.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodQuery } from "./pod-counts.ts";
import type { TermGroups } from "./term-groups.ts";

/** What a decision looks at. Nothing of it changes while one is being made. */
export interface Snapshot {
  /** Those of different zones by turns. */
  readonly nodes: readonly NodeInfo[];
  node(name: string): NodeInfo | undefined;
  /** How many pods match, by the name of their node. */
  count(query: PodQuery): ReadonlyMap<string, number>;
  /** What pods that have a node want of others. */
  readonly terms: TermGroups;
  /** On how many nodes an image is. */
  imageSpread(image: string): number;
  isClaimInUse(claimKey: string): boolean;
  readonly objects: ApiObjects;
}

/** Objects of the API, by `namespace/name` or by name. */
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

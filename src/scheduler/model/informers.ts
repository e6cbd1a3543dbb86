import type {
  PersistentVolume,
  PersistentVolumeClaim,
  ReplicaSet,
  Service,
  StatefulSet,
  StorageClass,
} from "../../api/meta/objects.ts";
import type { Labels } from "../../api/meta/selector.ts";
import { classOf } from "../../api/pod/volume-binding.ts";
import type { ObjectTypes, ResourceName } from "../../client/api/client.ts";
import { createInformer, type Informer, type InformerOptions } from "../../client/informers/informer.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodQuery, TermGroups } from "./pod-counts.ts";

type Deps = Pick<InformerOptions<"pods">, "client" | "clock" | "logger">;

/** Informers for all resources that scheduling decisions depend on. */
export interface Informers {
  readonly pods: Informer<ObjectTypes["pods"]>;
  readonly nodes: Informer<ObjectTypes["nodes"]>;
  readonly namespaces: Informer<ObjectTypes["namespaces"]>;
  readonly claims: Informer<ObjectTypes["persistentvolumeclaims"]>;
  readonly volumes: Informer<ObjectTypes["persistentvolumes"]>;
  readonly storageClasses: Informer<ObjectTypes["storageclasses"]>;
  readonly objects: ApiObjects;
  readonly synced: Promise<void>;
  run(signal: AbortSignal): Promise<void>;
}

export function createInformers(deps: Deps): Informers {
  const all: { run(signal: AbortSignal): Promise<void>; readonly synced: Promise<void> }[] = [];
  function open<Name extends ResourceName>(
    resource: Name,
    options: Pick<InformerOptions<Name>, "indexes" | "fieldSelector"> = {},
  ): Informer<ObjectTypes[Name]> {
    const informer = createInformer({
      client: deps.client,
      clock: deps.clock,
      logger: deps.logger,
      resource,
      indexes: options.indexes,
      fieldSelector: options.fieldSelector,
    });
    all.push(informer);
    return informer;
  }

  // Terminated pods use no resources of their node.
  const pods = open("pods", { fieldSelector: "status.phase!=Succeeded,status.phase!=Failed" });
  const nodes = open("nodes");
  const namespaces = open("namespaces");
  const claims = open("persistentvolumeclaims");
  const volumes = open("persistentvolumes", { indexes: { class: (volume) => [classOf(volume)] } });
  const storageClasses = open("storageclasses");
  const services = open("services", {
    indexes: { namespace: ({ metadata }) => [metadata.namespace ?? ""] },
  });
  const replicaSets = open("replicasets");
  const statefulSets = open("statefulsets");

  return {
    pods,
    nodes,
    namespaces,
    claims,
    volumes,
    storageClasses,
    objects: {
      *namespaces() {
        for (const { metadata } of namespaces.list()) {
          yield { name: metadata.name ?? "", labels: metadata.labels };
        }
      },
      namespaceLabels: (name) => namespaces.get(name)?.metadata.labels,
      claim: claims.get,
      volume: volumes.get,
      volumesOfClass: (className) => volumes.byIndex("class", className),
      storageClass: storageClasses.get,
      servicesIn: (namespace) => services.byIndex("namespace", namespace),
      replicaSet: replicaSets.get,
      statefulSet: statefulSets.get,
    },
    synced: Promise.all(all.map(({ synced }) => synced)).then(() => {}),
    async run(signal) {
      await Promise.all(all.map((informer) => informer.run(signal)));
    },
  };
}

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

import { classOf } from "../../api/pod/volume-binding.ts";
import type { ObjectTypes, ResourceName } from "../../client/api/client.ts";
import { createInformer, type Informer, type InformerOptions } from "../../client/informers/informer.ts";
import type { ApiObjects } from "./snapshot.ts";

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

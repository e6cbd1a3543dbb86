import { endpointsKind } from "../../api/kinds/core/endpoints/kind.ts";
import { namespaceKind } from "../../api/kinds/core/namespace/kind.ts";
import { serviceKind } from "../../api/kinds/core/service/kind.ts";
import { endpointSliceKind } from "../../api/kinds/discovery/endpoint-slice/kind.ts";
import { systemPriorityClasses } from "../../api/kinds/scheduling/priority-class/kind.ts";
import type { KubeObject } from "../../api/meta/objects.ts";
import type { Logger } from "../../lib/logger.ts";
import { type PolicyAction, reconcilePolicy } from "../auth/bootstrap-policy/bootstrap-policy.ts";
import type { RbacObject } from "../auth/rbac/rbac-objects.ts";
import { createIfMissing, namespaceDefaults } from "../handlers/verbs/create.ts";
import { deleteObject } from "../handlers/verbs/delete.ts";
import { serverWriter } from "../handlers/verbs/track-fields.ts";
import { replaceObject } from "../handlers/verbs/update.ts";
import type { WriteDeps } from "../handlers/verbs/write-deps.ts";
import { mastersGroup, type UserInfo } from "../request/user-info.ts";
import { createLister } from "../storage/lister.ts";
import { refOf } from "../storage/object-store.ts";
import { apiServiceAddress } from "../storage/service-claims.ts";

/** User of the API server for its own writes. */
const serverUser: UserInfo = { username: "system:apiserver", groups: [mastersGroup], extra: {} };

/** Creates or updates the objects that every cluster has. Several servers may do this concurrently. */
export async function bootstrapCluster(deps: WriteDeps, server: ServerAddress): Promise<void> {
  const refTo = (object: KubeObject) => refOf(deps.kinds, object);
  const write = { user: serverUser, writer: serverWriter, dryRun: false, warnings: [] };

  const create = (object: KubeObject) => createIfMissing(deps, object, serverUser);
  async function replace(object: KubeObject): Promise<void> {
    await replaceObject(deps, { ...write, ref: refTo(object), subresource: "", object });
  }
  async function carryOut({ kind, object }: PolicyAction): Promise<void> {
    if (kind === "update") return replace(object);
    if (kind === "recreate") await deleteObject(deps, { ref: refTo(object), options: {}, user: serverUser });
    return create(object);
  }

  const missing = clusterObjects(server.port).filter((object) => !deps.objectStore.getCached(refTo(object)));
  const namespaces = missing.filter((object) => object.kind === "Namespace");
  // The other objects need their namespace.
  await Promise.all(namespaces.map(create));
  // A crash may have prevented the creation of a namespace's default objects.
  const defaults = [...createLister(deps.objectStore, namespaceKind).all()]
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .flatMap(({ metadata }) => namespaceDefaults(metadata.name ?? "", deps.rootCa))
    .filter((object) => !deps.objectStore.getCached(refTo(object)));
  await Promise.all(defaults.map(create));
  const find = (expected: RbacObject) =>
    deps.objectStore.getCached(refTo(expected))?.parse() as RbacObject | undefined;
  await Promise.all([
    ...missing.filter((object) => object.kind !== "Namespace").map(create),
    ...reconcilePolicy(find).map(carryOut),
    writeApiEndpoints(deps, server),
  ]);
}

/** Writes the Endpoints and the EndpointSlice of the `kubernetes` service. */
export async function writeApiEndpoints(deps: WriteDeps, server: ServerAddress): Promise<void> {
  await Promise.all(
    apiEndpoints(server).map(async (object: KubeObject & { addressType?: string }) => {
      const ref = refOf(deps.kinds, object);
      const current: typeof object | undefined = deps.objectStore.getCached(ref)?.parse();
      if (current?.addressType === object.addressType && current) {
        const write = { user: serverUser, writer: serverWriter, dryRun: false, warnings: [] };
        await replaceObject(deps, { ...write, ref, subresource: "", object });
        return;
      }
      // The address type is immutable.
      if (current) await deleteObject(deps, { ref, options: {}, user: serverUser });
      await createIfMissing(deps, object, serverUser);
    }),
  );
}

/**
 * Recreates the `kubernetes` service, its Endpoints and its EndpointSlice when they are deleted: programs in pods find the
 * API through them. `server` returns the current address.
 */
export function keepApiService(deps: WriteDeps, server: () => ServerAddress, logger: Logger): void {
  const wanted = () => [apiService(server().port), ...apiEndpoints(server())];
  for (const [index, kind] of [serviceKind, endpointsKind, endpointSliceKind].entries()) {
    createLister(deps.objectStore, kind).onChange((before, after) => {
      const { name, namespace } = before?.metadata ?? {};
      const object = wanted()[index];
      if (after || !object || name !== object.metadata.name || namespace !== object.metadata.namespace)
        return;
      createIfMissing(deps, structuredClone(object), serverUser).catch((error: unknown) =>
        logger.warn("failed to recreate an object of the kubernetes service", { kind: object.kind, error }),
      );
    });
  }
}

const systemNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

/** Objects that every cluster has, without the RBAC policy. */
function clusterObjects(port: number): KubeObject[] {
  const namespaces = systemNamespaces.map((name) => ({
    apiVersion: "v1",
    kind: "Namespace",
    metadata: { name },
  }));
  return [
    ...namespaces,
    apiService(port),
    ...systemPriorityClasses.map((priorityClass) => structuredClone(priorityClass)),
  ];
}

function apiService(port: number): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: {
      name: "kubernetes",
      namespace: "default",
      labels: { component: "apiserver", provider: "kubernetes" },
    },
    spec: {
      clusterIP: apiServiceAddress,
      ports: [{ name: "https", port: 443, protocol: "TCP", targetPort: port }],
    },
  } as KubeObject;
}

export interface ServerAddress {
  readonly port: number;
  /** Undefined on a machine that has only loopback addresses, which Endpoints must not contain. */
  readonly advertised: string | undefined;
}

const endpointsName = { name: "kubernetes", namespace: "default" };

/** Endpoints and EndpointSlice of the `kubernetes` service. Updated at every start, because the port may change. */
function apiEndpoints({ advertised: address, port }: ServerAddress): KubeObject[] {
  const ports = [{ name: "https", port, protocol: "TCP" }];
  return [
    {
      apiVersion: "v1",
      kind: "Endpoints",
      metadata: { ...endpointsName, labels: { "endpointslice.kubernetes.io/skip-mirror": "true" } },
      subsets: address ? [{ addresses: [{ ip: address }], ports }] : [],
    } as KubeObject,
    {
      apiVersion: "discovery.k8s.io/v1",
      kind: "EndpointSlice",
      metadata: { ...endpointsName, labels: { "kubernetes.io/service-name": "kubernetes" } },
      addressType: address?.includes(":") ? "IPv6" : "IPv4",
      endpoints: address ? [{ addresses: [address], conditions: { ready: true } }] : [],
      ports,
    } as KubeObject,
  ];
}

import type { KubeObject } from "../api/objects.ts";
import { findResourceOfKind } from "../api/resources.ts";
import { StatusError } from "../api/status-error.ts";
import { type PolicyAction, reconcilePolicy } from "./auth/bootstrap-policy/reconcile-policy.ts";
import type { RbacObject } from "./auth/rbac/objects.ts";
import { mastersGroup, type UserInfo } from "./auth/user-info.ts";
import { apiEndpointSlice, clusterObjects } from "./cluster-objects.ts";
import type { ObjectRef } from "./registry.ts";
import { createObject } from "./verb/create.ts";
import { deleteObject } from "./verb/delete.ts";
import { replaceObject } from "./verb/update.ts";
import type { WriteDeps } from "./writer.ts";

/** The server itself, where it writes objects as a client would. */
const serverUser: UserInfo = { username: "system:apiserver", groups: [mastersGroup], extra: {} };

/** Brings a new store, or one of an older version, to what every cluster has. Several servers may do it at once. */
export async function bootstrapCluster(
  deps: WriteDeps,
  server: { port: number; advertised: string | undefined },
): Promise<void> {
  const write = { user: serverUser, dryRun: false, warnings: [] };

  async function create(object: KubeObject): Promise<void> {
    const { resource, namespace } = refOf(object);
    await createObject(deps, { ...write, resource, namespace, object }).catch(ignoreExisting);
  }
  async function replace(object: KubeObject): Promise<void> {
    await replaceObject(deps, { ...write, ref: refOf(object), subresource: "", object });
  }
  async function carryOut({ kind, object }: PolicyAction): Promise<void> {
    if (kind === "update") return replace(object);
    if (kind === "recreate") await deleteObject(deps, { ref: refOf(object), options: {}, user: serverUser });
    return create(object);
  }

  const missing = clusterObjects(server.port).filter((object) => !deps.registry.peek(refOf(object)));
  const namespaces = missing.filter((object) => object.kind === "Namespace");
  // Everything else lives in one of them.
  await Promise.all(namespaces.map(create));
  const find = (expected: RbacObject) =>
    deps.registry.peek(refOf(expected))?.parse() as RbacObject | undefined;
  const slice = server.advertised && apiEndpointSlice({ address: server.advertised, port: server.port });
  await Promise.all([
    ...missing.filter((object) => object.kind !== "Namespace").map(create),
    ...reconcilePolicy(find).map(carryOut),
    slice && (deps.registry.peek(refOf(slice)) ? replace(slice) : create(slice)),
  ]);
}

function refOf(object: KubeObject): ObjectRef {
  const resource = findResourceOfKind(object.apiVersion, object.kind);
  if (!resource) throw new Error(`${object.apiVersion} ${object.kind} is not served`);
  return { resource, namespace: object.metadata.namespace ?? "", name: object.metadata.name ?? "" };
}

function ignoreExisting(error: unknown): void {
  if (!(error instanceof StatusError) || error.reason !== "AlreadyExists") throw error;
}

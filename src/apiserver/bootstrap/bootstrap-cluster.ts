import type { KubeObject } from "../../api/objects.ts";
import { type PolicyAction, reconcilePolicy } from "../auth/bootstrap-policy/reconcile-policy.ts";
import type { RbacObject } from "../auth/rbac/objects.ts";
import { mastersGroup, type UserInfo } from "../auth/user-info.ts";
import { lookupOf } from "../registry/object-lookup.ts";
import { refOf } from "../registry/registry.ts";
import { createIfMissing } from "../verb/create.ts";
import { deleteObject } from "../verb/delete.ts";
import { replaceObject } from "../verb/update.ts";
import type { WriteDeps } from "../verb/write-deps.ts";
import { apiEndpointSlice, clusterObjects } from "./cluster-objects.ts";

/** The server itself, where it writes objects as a client would. */
export const serverUser: UserInfo = { username: "system:apiserver", groups: [mastersGroup], extra: {} };

/** Brings a new store, or one of an older version, to what every cluster has. Several servers may do it at once. */
export async function bootstrapCluster(
  deps: WriteDeps,
  server: { port: number; advertised: string | undefined },
): Promise<void> {
  const write = { user: serverUser, dryRun: false, warnings: [] };

  const create = (object: KubeObject) => createIfMissing(deps, object, serverUser);
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
  // A crash may have come between a namespace and what belongs in it.
  const companions = [...lookupOf(deps.registry, "", "namespaces").all()]
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .flatMap(deps.companions)
    .filter((object) => !deps.registry.peek(refOf(object)));
  await Promise.all(companions.map(create));
  const find = (expected: RbacObject) =>
    deps.registry.peek(refOf(expected))?.parse() as RbacObject | undefined;
  const slice = server.advertised && apiEndpointSlice({ address: server.advertised, port: server.port });
  await Promise.all([
    ...missing.filter((object) => object.kind !== "Namespace").map(create),
    ...reconcilePolicy(find).map(carryOut),
    slice && (deps.registry.peek(refOf(slice)) ? replace(slice) : create(slice)),
  ]);
}

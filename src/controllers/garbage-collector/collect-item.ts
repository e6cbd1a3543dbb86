import { isEqual } from "../../api/meta/is-equal.ts";
import type { KubeObject, OwnerReference } from "../../api/meta/objects.ts";
import type { Client, DeleteOptions } from "../../client/api/client.ts";
import { resourceOfKind } from "../../client/api/resource-path.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import type { GraphNode } from "./owner-graph.ts";

type Policy = DeleteOptions["propagationPolicy"];

/** Number of dependents that are orphaned concurrently. */
const orphanConcurrency = 32;
const maxConflictTries = 5;

/** Gets the object from the API. Undefined if it does not exist or its name belongs to another object. */
export async function getLive(
  client: Client,
  { resource, namespace, name, uid }: GraphNode,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    const live = await client.resource<KubeObject>(resource).get({ namespace, name }, { signal });
    return live.metadata.uid === uid ? live : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Deletes the object at this version. One that has changed since is deleted only if its owners are the same. */
export async function deleteItem(
  client: Client,
  item: GraphNode,
  { live, policy, signal }: { live: KubeObject; policy: Policy; signal: AbortSignal },
): Promise<void> {
  const { resource, namespace, name, uid } = item;
  const remove = (resourceVersion?: string) =>
    client.resource(resource).delete(
      { namespace, name },
      {
        propagationPolicy: policy,
        preconditions: { uid, ...(resourceVersion && { resourceVersion }) },
        signal,
      },
    );
  try {
    await remove(live.metadata.resourceVersion);
  } catch (error) {
    if (isNotFound(error)) return;
    if (!isConflict(error)) throw error;
    const now = await getLive(client, item, signal);
    if (!now) return;
    // Otherwise an object that changes constantly would never be deleted.
    if (!isEqual(now.metadata.ownerReferences, live.metadata.ownerReferences)) throw error;
    await remove();
  }
}

/** Removes owner references from an object. */
export async function dropReferences(
  client: Client,
  item: GraphNode,
  { owners, signal }: { owners: readonly string[]; signal: AbortSignal },
): Promise<void> {
  const ownerReferences = owners.map((owner) => ({ $patch: "delete", uid: owner }));
  try {
    await patchReferences(client, item, {
      strategic: ownerReferences,
      merged: (references) => references.filter(({ uid }) => !owners.includes(uid)),
      signal,
    });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Sets blockOwnerDeletion of the object's references to false. Returns the updated object. */
export async function unblockOwners(
  client: Client,
  item: GraphNode,
  signal: AbortSignal,
): Promise<KubeObject> {
  const unblocked = (references: readonly OwnerReference[]) =>
    references.map((owner) => (owner.blockOwnerDeletion ? { ...owner, blockOwnerDeletion: false } : owner));
  return patchReferences(client, item, {
    strategic: unblocked(item.owners.filter(({ blockOwnerDeletion }) => blockOwnerDeletion)),
    merged: unblocked,
    signal,
  });
}

/**
 * Changes the owner references of an object. Custom resources have no strategic merge patch: their references are replaced at
 * the version that was read.
 */
async function patchReferences(
  client: Client,
  item: GraphNode,
  change: {
    strategic: readonly object[];
    merged: (references: readonly OwnerReference[]) => readonly OwnerReference[];
    signal: AbortSignal;
  },
): Promise<KubeObject> {
  const { resource, namespace, name, uid, apiVersion, kind } = item;
  const { signal } = change;
  const objects = client.resource<KubeObject>(resource);
  if (resourceOfKind(apiVersion, kind)) {
    const body = { metadata: { ownerReferences: change.strategic, uid } };
    return objects.patch({ namespace, name }, { patch: { kind: "strategic", body }, signal });
  }
  const live = await objects.get({ namespace, name }, { signal });
  const { resourceVersion, ownerReferences = [] } = live.metadata;
  const body = { metadata: { uid, resourceVersion, ownerReferences: change.merged(ownerReferences) } };
  return objects.patch({ namespace, name }, { patch: { kind: "merge", body }, signal });
}

export async function orphanDependents(
  client: Client,
  { owner, dependents, signal }: { owner: string; dependents: readonly GraphNode[]; signal: AbortSignal },
): Promise<void> {
  const pending = [...dependents];
  const work = async () => {
    for (let next = pending.pop(); next; next = pending.pop()) {
      await dropReferences(client, next, { owners: [owner], signal });
    }
  };
  await Promise.all(Array.from({ length: orphanConcurrency }, work));
}

/** Removes a finalizer of the garbage collector. The object is deleted with its last finalizer. */
export async function removeFinalizer(
  client: Client,
  item: GraphNode,
  { finalizer, signal }: { finalizer: string; signal: AbortSignal },
): Promise<void> {
  const { resource, namespace, name } = item;
  for (let tries = 1; ; tries++) {
    const live = await getLive(client, item, signal);
    const { finalizers = [], resourceVersion } = live?.metadata ?? {};
    if (!finalizers.includes(finalizer)) return;
    const body = {
      metadata: { resourceVersion, finalizers: finalizers.filter((other) => other !== finalizer) },
    };
    try {
      await client.resource(resource).patch({ namespace, name }, { patch: { kind: "merge", body }, signal });
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error) || tries === maxConflictTries) throw error;
    }
  }
}

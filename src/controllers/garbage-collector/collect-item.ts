import { isEqual } from "../../api/is-equal.ts";
import type { KubeObject } from "../../api/objects.ts";
import type { Client, DeleteOptions } from "../../client/client.ts";
import { isConflict, isNotFound } from "../../client/status-errors.ts";
import type { GraphNode } from "./owner-graph.ts";

type Policy = DeleteOptions["propagationPolicy"];

/** How many dependents are orphaned at a time. */
const orphansAtOnce = 32;
const conflictTries = 5;

/** The object as the API has it; undefined when another one, or none, has its name. */
export async function getLive(
  client: Client,
  { resource, namespace, name, uid }: GraphNode,
  signal: AbortSignal,
): Promise<KubeObject | undefined> {
  try {
    const live = await client.get(resource, { namespace, name }, { signal });
    return live.metadata.uid === uid ? live : undefined;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Deletes the object that was looked at. One that changed since is deleted only if its owners are the same. */
export async function deleteItem(
  client: Client,
  item: GraphNode,
  { live, policy, signal }: { live: KubeObject; policy: Policy; signal: AbortSignal },
): Promise<void> {
  const { resource, namespace, name, uid } = item;
  const remove = (resourceVersion?: string) =>
    client.delete(
      resource,
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
    // What changes all the time would never be deleted otherwise.
    if (!isEqual(now.metadata.ownerReferences, live.metadata.ownerReferences)) throw error;
    await remove();
  }
}

/** Takes owners out of what an object says of them. */
export async function dropReferences(
  client: Client,
  { resource, namespace, name, uid }: GraphNode,
  { owners, signal }: { owners: readonly string[]; signal: AbortSignal },
): Promise<void> {
  const ownerReferences = owners.map((owner) => ({ $patch: "delete", uid: owner }));
  const body = { metadata: { ownerReferences, uid } };
  try {
    await client.patch(resource, { namespace, name }, { patch: { kind: "strategic", body }, signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

/** Has the owners of an object not wait for it; answers with the object as it is then. */
export async function unblockOwners(
  client: Client,
  { resource, namespace, name, uid, owners }: GraphNode,
  signal: AbortSignal,
): Promise<KubeObject> {
  const ownerReferences = owners
    .filter(({ blockOwnerDeletion }) => blockOwnerDeletion)
    .map((owner) => ({ ...owner, blockOwnerDeletion: false }));
  const body = { metadata: { ownerReferences, uid } };
  return client.patch(resource, { namespace, name }, { patch: { kind: "strategic", body }, signal });
}

export async function orphanDependents(
  client: Client,
  { owner, dependents, signal }: { owner: string; dependents: readonly GraphNode[]; signal: AbortSignal },
): Promise<void> {
  const waiting = [...dependents];
  const work = async () => {
    for (let next = waiting.pop(); next; next = waiting.pop()) {
      await dropReferences(client, next, { owners: [owner], signal });
    }
  };
  await Promise.all(Array.from({ length: orphansAtOnce }, work));
}

/** Takes the garbage collector's finalizer off an object: with the last one, it goes. */
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
      await client.patch(resource, { namespace, name }, { patch: { kind: "merge", body }, signal });
      return;
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error) || tries === conflictTries) throw error;
    }
  }
}

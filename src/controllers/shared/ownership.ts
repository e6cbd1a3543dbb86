import { controllerOf, controllerReference } from "../../api/meta/object-facts.ts";
import type { KubeObject, LabelSelector } from "../../api/meta/objects.ts";
import { labelSelectorOf, matchesLabels } from "../../api/meta/selector.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import type { Client, ObjectTypes, ResourceName } from "../../client/api/client.ts";
import type { Informer } from "../../client/informers/informer.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";

/** Returns the controlling owner of an object if it is of this kind and still exists with the same uid. */
export function ownerOf<Owner extends KubeObject>(
  object: KubeObject,
  kind: string,
  owners: Pick<Informer<Owner>, "get">,
): Owner | undefined {
  const reference = controllerOf(object);
  if (reference?.kind !== kind) return undefined;
  const owner = owners.get(`${object.metadata.namespace}/${reference.name}`);
  return owner?.metadata.uid === reference.uid ? owner : undefined;
}

/** Whether the selector of a workload matches an object's labels. As upstream, an empty selector matches nothing. */
export function selects(
  { spec }: { readonly spec?: { readonly selector?: LabelSelector } },
  { metadata }: KubeObject,
): boolean {
  const selector = labelSelectorOf(spec?.selector);
  return selector !== undefined && selector.length > 0 && matchesLabels(selector, metadata.labels);
}

interface Claim<T> {
  readonly kept: readonly T[];
  readonly adopted: readonly T[];
  readonly released: readonly T[];
}

/**
 * Decides which objects an owner controls, should adopt and should release. An owner that is being deleted neither
 * adopts nor releases.
 */
export function decideClaim<T extends KubeObject>(
  owner: KubeObject,
  objects: Iterable<T>,
  isMember: (object: T) => boolean,
): Claim<T> {
  const claim = { kept: [] as T[], adopted: [] as T[], released: [] as T[] };
  const isOwnerTerminating = owner.metadata.deletionTimestamp !== undefined;
  for (const object of objects) {
    const controller = controllerOf(object);
    if (controller) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (isMember(object)) claim.kept.push(object);
      else if (!isOwnerTerminating) claim.released.push(object);
    } else if (!isOwnerTerminating && object.metadata.deletionTimestamp === undefined && isMember(object)) {
      claim.adopted.push(object);
    }
  }
  return claim;
}

interface ClaimOptions<Name extends ResourceName> {
  readonly client: Client;
  /** Resource of the claimed objects. */
  readonly resource: Name;
  readonly ownerResource: ResourceName;
  readonly owner: KubeObject;
  readonly claim: Claim<ObjectTypes[Name]>;
  /** Finalizer that adopted objects get and released objects lose. Default: none. */
  readonly finalizer?: string;
  readonly signal: AbortSignal;
}

/** Adopts and releases objects. Returns those that the owner controls afterwards. */
export async function claimObjects<Name extends ResourceName>(
  options: ClaimOptions<Name>,
): Promise<readonly ObjectTypes[Name][]> {
  const { kept, adopted, released } = options.claim;
  if (adopted.length === 0 && released.length === 0) return kept;
  for (const object of released) await release(options, object);
  if (adopted.length > 0) await checkOwner(options);
  const now = await Promise.all(adopted.map((object) => adopt(options, object)));
  return [...kept, ...now.filter((object) => object !== undefined)];
}

/** The cached owner may be stale: an owner that was deleted meanwhile must not adopt what its deletion orphaned. */
async function checkOwner<Name extends ResourceName>(options: ClaimOptions<Name>): Promise<void> {
  const { client, ownerResource, owner, signal } = options;
  const { namespace, name = "", uid } = owner.metadata;
  const fresh = await client.get(ownerResource, { namespace, name }, { signal });
  const { deletionTimestamp } = fresh.metadata;
  if (fresh.metadata.uid !== uid) {
    const uids = `got uid ${fresh.metadata.uid}, wanted ${uid}`;
    throw new Error(`original ${owner.kind} ${namespace}/${name} is gone: ${uids}`);
  }
  if (deletionTimestamp)
    throw new Error(`${namespace}/${name} has just been deleted at ${deletionTimestamp}`);
}

async function adopt<Name extends ResourceName>(
  { client, resource, owner, finalizer, signal }: ClaimOptions<Name>,
  object: ObjectTypes[Name],
): Promise<ObjectTypes[Name] | undefined> {
  const { namespace, name = "", uid } = object.metadata;
  const ownerReferences = [controllerReference(owner)];
  const body = { metadata: { uid, ownerReferences, ...(finalizer && { finalizers: [finalizer] }) } };
  try {
    return await client.patch(resource, { namespace, name }, { patch: { kind: "strategic", body }, signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function release<Name extends ResourceName>(
  { client, resource, owner, finalizer, signal }: ClaimOptions<Name>,
  object: ObjectTypes[Name],
): Promise<void> {
  const { namespace, name = "", uid } = object.metadata;
  const ownerReferences = [{ $patch: "delete", uid: owner.metadata.uid }];
  const removed = finalizer && { "$deleteFromPrimitiveList/finalizers": [finalizer] };
  const body = { metadata: { uid, ownerReferences, ...removed } };
  try {
    await client.patch(resource, { namespace, name }, { patch: { kind: "strategic", body }, signal });
  } catch (error) {
    // Deleted, replaced by another object of that name, or already released.
    if (!isNotFound(error) && !isConflict(error) && !isInvalid(error)) throw error;
  }
}

function isInvalid(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "Invalid";
}

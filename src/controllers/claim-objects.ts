import { controllerOf, controllerReference } from "../api/controller-reference.ts";
import type { KubeObject } from "../api/objects.ts";
import { StatusError } from "../api/status-error.ts";
import type { Client, ObjectTypes, ResourceName } from "../client/client.ts";
import { isConflict, isNotFound } from "../client/status-errors.ts";

interface Claim<T> {
  readonly kept: readonly T[];
  readonly adopted: readonly T[];
  readonly released: readonly T[];
}

/**
 * Which objects an owner is in charge of, should take charge of, and should let go. An owner that is being deleted
 * leaves all as it is.
 */
export function decideClaim<T extends KubeObject>(
  owner: KubeObject,
  objects: Iterable<T>,
  isMember: (object: T) => boolean,
): Claim<T> {
  const claim = { kept: [] as T[], adopted: [] as T[], released: [] as T[] };
  const ownerGoes = owner.metadata.deletionTimestamp !== undefined;
  for (const object of objects) {
    const controller = controllerOf(object);
    if (controller) {
      if (controller.uid !== owner.metadata.uid) continue;
      if (isMember(object)) claim.kept.push(object);
      else if (!ownerGoes) claim.released.push(object);
    } else if (!ownerGoes && object.metadata.deletionTimestamp === undefined && isMember(object)) {
      claim.adopted.push(object);
    }
  }
  return claim;
}

interface ClaimOptions<Name extends ResourceName> {
  readonly client: Client;
  /** Of the objects. */
  readonly resource: Name;
  readonly ownerResource: ResourceName;
  readonly owner: KubeObject;
  readonly claim: Claim<ObjectTypes[Name]>;
  readonly signal: AbortSignal;
}

/** Adopts and releases; answers with those that the owner is in charge of then. */
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

/** The copy of the owner may be old: one that was deleted meanwhile must not take over what its deletion left behind. */
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
  { client, resource, owner, signal }: ClaimOptions<Name>,
  object: ObjectTypes[Name],
): Promise<ObjectTypes[Name] | undefined> {
  const { namespace, name = "", uid } = object.metadata;
  const body = { metadata: { uid, ownerReferences: [controllerReference(owner)] } };
  try {
    return await client.patch(resource, { namespace, name }, { patch: { kind: "strategic", body }, signal });
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function release<Name extends ResourceName>(
  { client, resource, owner, signal }: ClaimOptions<Name>,
  object: ObjectTypes[Name],
): Promise<void> {
  const { namespace, name = "", uid } = object.metadata;
  const ownerReferences = [{ $patch: "delete", uid: owner.metadata.uid }];
  const body = { metadata: { uid, ownerReferences } };
  try {
    await client.patch(resource, { namespace, name }, { patch: { kind: "strategic", body }, signal });
  } catch (error) {
    // Gone, or another one of that name, or released already.
    if (!isNotFound(error) && !isConflict(error) && !isInvalid(error)) throw error;
  }
}

function isInvalid(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "Invalid";
}

import { controllerReference } from "../../api/controller-reference.ts";
import type {
  KubeObject,
  OwnerReference,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
} from "../../api/objects.ts";
import { isInRange, ordinalOf } from "./pod-identity.ts";

/**
 * Whom a claim goes with, by the set's retention policy. A claim without owners stays.
 *
 * | whenScaled | whenDeleted | pod in range | pod scaled down |
 * |------------|-------------|--------------|-----------------|
 * | Retain     | Retain      | nobody       | nobody          |
 * | Retain     | Delete      | the set      | the set         |
 * | Delete     | Retain      | nobody       | the pod         |
 * | Delete     | Delete      | the set      | the pod         |
 */
function wantedOwner(set: StatefulSet, pod: Pod): KubeObject | undefined {
  const { whenScaled, whenDeleted } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  if (whenScaled === "Delete" && !isInRange(set, ordinalOf(pod))) return pod;
  return whenDeleted === "Delete" ? set : undefined;
}

/** For a claim that is made now, for a pod that is not there yet. */
export function ownersOfNewClaim(set: StatefulSet, pod: Pod): OwnerReference[] {
  const owner = wantedOwner(set, pod);
  return owner ? [controllerReference(owner)] : [];
}

/** The claim's owners as the policy wants them; undefined where they are so, or are none of our business. */
export function correctedOwners(
  claim: PersistentVolumeClaim,
  set: StatefulSet,
  pod: Pod,
): OwnerReference[] | undefined {
  const references = claim.metadata.ownerReferences ?? [];
  // Left by a set or a pod that is gone: the garbage collector decides.
  if (hasStaleReference(claim, set) || hasStaleReference(claim, pod)) return undefined;
  const ours = references.filter(({ uid }) => uid === set.metadata.uid || uid === pod.metadata.uid);
  const others = references.filter((reference) => !names(reference, set) && !names(reference, pod));
  if (hasOtherController(claim, set, pod)) return ours.length > 0 ? others : undefined;
  const owner = wantedOwner(set, pod);
  const right = owner
    ? ours.length === 1 && ours[0]?.uid === owner.metadata.uid && ours[0]?.controller === true
    : ours.length === 0;
  return right ? undefined : [...others, ...(owner ? [controllerReference(owner)] : [])];
}

/** Somebody else is in charge of the claim: a policy that would delete it does not hold then. */
export function hasOtherController(claim: PersistentVolumeClaim, set: StatefulSet, pod: Pod): boolean {
  const { whenScaled, whenDeleted } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  if (whenScaled !== "Delete" && whenDeleted !== "Delete") return false;
  return (claim.metadata.ownerReferences ?? []).some((reference) => {
    for (const owner of [set, pod]) {
      if (names(reference, owner)) return reference.uid !== owner.metadata.uid;
    }
    return reference.controller === true;
  });
}

/** By name and kind: a pod that was made again is another one. */
export function hasStaleReference(claim: PersistentVolumeClaim, owner: KubeObject): boolean {
  const named = claim.metadata.ownerReferences?.find((reference) => names(reference, owner));
  return named !== undefined && named.uid !== owner.metadata.uid;
}

function names({ apiVersion, kind, name }: OwnerReference, owner: KubeObject): boolean {
  return apiVersion === owner.apiVersion && kind === owner.kind && name === owner.metadata.name;
}

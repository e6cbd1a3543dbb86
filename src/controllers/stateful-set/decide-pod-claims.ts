import { controllerReference } from "../../api/meta/object-facts.ts";
import type {
  KubeObject,
  OwnerReference,
  PersistentVolumeClaim,
  Pod,
  StatefulSet,
} from "../../api/meta/objects.ts";
import { claimsOf, isInRange, ordinalOf } from "./pod-identity.ts";
import type { PodAction, StatefulSetFacts } from "./stateful-set-facts.ts";

type ClaimFacts = Pick<StatefulSetFacts, "set" | "claim">;

/** Actions that create the missing claims of a pod, or fail if a claim cannot be created. */
export function missingClaims({ set, claim }: ClaimFacts, pod: Pod, verb: "create" | "update"): PodAction[] {
  return neededClaims(set, pod).flatMap((needed): PodAction[] => {
    const { name = "" } = needed.metadata;
    const existing = claim(name);
    if (existing?.metadata.deletionTimestamp) {
      return [{ kind: "fail", verb, pod, message: `pvc ${name} is being deleted` }];
    }
    if (existing) return [];
    const ownerReferences = ownersOfNewClaim(set, pod);
    const metadata = { ...needed.metadata, ...(ownerReferences.length > 0 && { ownerReferences }) };
    return [{ kind: "createClaim", pod, claim: { ...needed, metadata } }];
  });
}

/** Actions that set the owners of a pod's claims according to the retention policy. */
export function claimCorrections({ set, claim }: ClaimFacts, pod: Pod): PodAction[] {
  return neededClaims(set, pod).flatMap((needed): PodAction[] => {
    const existing = claim(needed.metadata.name ?? "");
    if (!existing) return [];
    const owners = correctedOwners(existing, set, pod);
    if (!owners) return [];
    const own: PodAction = { kind: "ownClaim", pod, claim: existing, owners };
    return hasOtherController(existing, set, pod) ? [conflict(existing), own] : [own];
  });
}

/**
 * Whether a claim still belongs to a deleted pod of that name and is deleted with it: a new pod must not get the volume
 * of a pod that was scaled down.
 */
export function hasStaleClaim({ set, claim }: ClaimFacts, pod: Pod): boolean {
  if (set.spec?.persistentVolumeClaimRetentionPolicy?.whenScaled !== "Delete") return false;
  return neededClaims(set, pod).some(({ metadata }) => {
    const existing = claim(metadata.name ?? "");
    return existing !== undefined && hasStaleReference(existing, pod);
  });
}

function neededClaims(set: StatefulSet, pod: Pod): readonly PersistentVolumeClaim[] {
  if (!set.spec?.volumeClaimTemplates?.length) return [];
  return [...claimsOf(set, ordinalOf(pod)).values()];
}

function conflict({ metadata: { name } }: PersistentVolumeClaim): PodAction {
  const message = `PersistentVolumeClaim ${name} has a conflicting OwnerReference that acts as a managing controller, the retention policy is ignored for this claim`;
  return { kind: "warn", reason: "ConflictingController", message };
}

/**
 * Owner of a claim according to the set's retention policy. A claim without owners is retained.
 *
 * | whenScaled | whenDeleted | pod in range | pod scaled down |
 * |------------|-------------|--------------|-----------------|
 * | Retain     | Retain      | none         | none            |
 * | Retain     | Delete      | the set      | the set         |
 * | Delete     | Retain      | none         | the pod         |
 * | Delete     | Delete      | the set      | the pod         |
 */
function wantedOwner(set: StatefulSet, pod: Pod): KubeObject | undefined {
  const { whenScaled, whenDeleted } = set.spec?.persistentVolumeClaimRetentionPolicy ?? {};
  if (whenScaled === "Delete" && !isInRange(set, ordinalOf(pod))) return pod;
  return whenDeleted === "Delete" ? set : undefined;
}

/** Owner references of a claim that is created for a pod that does not exist yet. */
function ownersOfNewClaim(set: StatefulSet, pod: Pod): OwnerReference[] {
  const owner = wantedOwner(set, pod);
  return owner ? [controllerReference(owner)] : [];
}

/** Owner references that the policy requires. Undefined if they are correct or must not be changed. */
export function correctedOwners(
  claim: PersistentVolumeClaim,
  set: StatefulSet,
  pod: Pod,
): OwnerReference[] | undefined {
  const references = claim.metadata.ownerReferences ?? [];
  // Left by a deleted set or pod: the garbage collector handles it.
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

/** Whether another controller owns the claim. A policy that would delete it is ignored then. */
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

/** Whether a claim refers to an earlier object of the owner's name and kind: a recreated pod is another object. */
export function hasStaleReference(claim: PersistentVolumeClaim, owner: KubeObject): boolean {
  const named = claim.metadata.ownerReferences?.find((reference) => names(reference, owner));
  return named !== undefined && named.uid !== owner.metadata.uid;
}

function names({ apiVersion, kind, name }: OwnerReference, owner: KubeObject): boolean {
  return apiVersion === owner.apiVersion && kind === owner.kind && name === owner.metadata.name;
}

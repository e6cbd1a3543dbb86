import type { PersistentVolumeClaim, Pod, StatefulSet } from "../../api/objects.ts";
import { correctedOwners, hasOtherController, hasStaleReference, ownersOfNewClaim } from "./claim-owners.ts";
import { claimsOf, ordinalOf } from "./pod-identity.ts";
import type { PodAction, StatefulSetFacts } from "./stateful-set-facts.ts";

type ClaimFacts = Pick<StatefulSetFacts, "set" | "claim">;

/** The claims of a pod that are missing, or what keeps them from being made. */
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

/** What makes the owners of a pod's claims those that the retention policy wants. */
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
 * Whether a claim still belongs to a pod of that name that is gone, and goes with it: a new pod must not be given
 * the volume of one that was scaled away.
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

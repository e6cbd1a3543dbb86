import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/meta/objects.ts";
import { compareQuantities } from "../../api/meta/quantity.ts";
import { labelSelectorOf, matchesLabels } from "../../api/meta/selector.ts";
import {
  bindCompletedAnnotation,
  boundByControllerAnnotation,
  classOf,
  isHeldFor,
  namedClassOf,
  offersModes,
  selectedNodeAnnotation,
  sizeOf,
  whyUnfit,
} from "../../api/pod/volume-binding.ts";
import type { EventToRecord } from "../../client/events/event-recorder.ts";
import { annotationOf, defaultClassOf, heldKeyOf } from "./storage-objects.ts";

export interface ClaimFacts {
  readonly claim: PersistentVolumeClaim;
  volume(name: string): PersistentVolume | undefined;
  readonly volumes: Iterable<PersistentVolume>;
  readonly classes: readonly StorageClass[];
  /** Names of unscheduled pods that use the claim. */
  waitingPods(): readonly string[];
}

export type ClaimPlan =
  | { readonly kind: "none" }
  /** The claim and the volume belong together: both sides of the binding are written. */
  | { readonly kind: "bind"; readonly volume: PersistentVolume }
  | { readonly kind: "phase"; readonly phase: "Pending" | "Lost"; readonly event?: EventToRecord }
  | { readonly kind: "assignClass"; readonly className: string }
  /** A volume has to be provisioned for the claim. */
  | { readonly kind: "provision"; readonly storageClass: StorageClass }
  /** An invalid state that needs an administrator. */
  | { readonly kind: "fail"; readonly event: EventToRecord; readonly message: string };

export function decideClaim(facts: ClaimFacts): ClaimPlan {
  const { claim } = facts;
  if (annotationOf(claim, bindCompletedAnnotation) !== undefined) return decideBound(facts);
  // A claim that is being deleted needs no volume.
  if (claim.metadata.deletionTimestamp) return { kind: "none" };
  return claim.spec?.volumeName ? decideNamed(facts, claim.spec.volumeName) : decideUnbound(facts);
}

function decideBound({ claim, volume }: ClaimFacts): ClaimPlan {
  const name = claim.spec?.volumeName;
  if (!name)
    return lost(
      "ClaimLost",
      "Bound claim has lost reference to PersistentVolume. Data on the volume is lost!",
    );
  const own = volume(name);
  if (!own)
    return lost("ClaimLost", "Bound claim has lost its PersistentVolume. Data on the volume is lost!");
  const holder = own.spec?.claimRef;
  if (!holder || holder.uid === claim.metadata.uid) return { kind: "bind", volume: own };
  return lost("ClaimMisbound", "Two claims are bound to the same volume, this one is bound incorrectly");
}

/** Decides for a claim with spec.volumeName. */
function decideNamed({ claim, volume }: ClaimFacts, name: string): ClaimPlan {
  const own = volume(name);
  if (!own) return { kind: "phase", phase: "Pending" };
  if (!own.spec?.claimRef) {
    const problem = bindingProblem(own, claim);
    if (!problem) return { kind: "bind", volume: own };
    const message = `Cannot bind to requested volume "${name}": ${problem}`;
    return { kind: "phase", phase: "Pending", event: { type: "Warning", reason: "VolumeMismatch", message } };
  }
  if (isHeldFor(own, claim)) return { kind: "bind", volume: own };
  const message = `volume "${name}" already bound to a different claim.`;
  const event = { type: "Warning", reason: "FailedBinding", message } as const;
  if (annotationOf(claim, boundByControllerAnnotation) === undefined) {
    return { kind: "phase", phase: "Pending", event };
  }
  const key = `${claim.metadata.namespace}/${claim.metadata.name}`;
  return {
    kind: "fail",
    event,
    message: `invalid binding of claim "${key}" to volume "${name}": volume already claimed by "${heldKeyOf(own)}"`,
  };
}

function decideUnbound({ claim, volumes, classes, waitingPods }: ClaimFacts): ClaimPlan {
  const className = classOf(claim);
  const storageClass = classes.find(({ metadata }) => metadata.name === className);
  const isDelayed = storageClass?.volumeBindingMode === "WaitForFirstConsumer";
  const found = findVolume(claim, volumes, { heldOnly: isDelayed });
  if (found) return { kind: "bind", volume: found };

  const assigned = namedClassOf(claim) === undefined ? defaultClassOf(classes)?.metadata.name : undefined;
  if (assigned) return { kind: "assignClass", className: assigned };
  if (isDelayed && annotationOf(claim, selectedNodeAnnotation) === undefined) {
    return { kind: "phase", phase: "Pending", event: waitingEvent(waitingPods()) };
  }
  if (!className) {
    const message = "no persistent volumes available for this claim and no storage class is set";
    return { kind: "phase", phase: "Pending", event: { type: "Normal", reason: "FailedBinding", message } };
  }
  if (!storageClass) {
    const message = `storageclass.storage.k8s.io "${className}" not found`;
    return {
      kind: "phase",
      phase: "Pending",
      event: { type: "Warning", reason: "ProvisioningFailed", message },
    };
  }
  return { kind: "provision", storageClass };
}

function waitingEvent(pods: readonly string[]): EventToRecord {
  if (pods.length === 0) {
    const message = "waiting for first consumer to be created before binding";
    return { type: "Normal", reason: "WaitForFirstConsumer", message };
  }
  const message = `waiting for ${pods.length > 1 ? "pods" : "pod"} ${pods.join()} to be scheduled`;
  return { type: "Normal", reason: "WaitForPodScheduled", message };
}

function lost(reason: string, message: string): ClaimPlan {
  return { kind: "phase", phase: "Lost", event: { type: "Warning", reason, message } };
}

/**
 * Finds the volume that is reserved for a claim, else the smallest available one with the fewest access modes. With
 * WaitForFirstConsumer the scheduler chooses, and only a reserved volume is returned.
 */
export function findVolume(
  claim: PersistentVolumeClaim,
  volumes: Iterable<PersistentVolume>,
  { heldOnly }: { heldOnly: boolean },
): PersistentVolume | undefined {
  let best: PersistentVolume | undefined;
  for (const volume of volumes) {
    if (volume.spec?.claimRef ? !isHeldFor(volume, claim) : heldOnly) continue;
    if (volume.metadata.deletionTimestamp || whyUnfit(volume, claim)) continue;
    if (volume.spec?.claimRef) return volume;
    if (isFree(volume, claim) && (!best || isBetter(volume, best))) best = volume;
  }
  return best;
}

/** Why a volume cannot be bound to a claim that names it. */
function bindingProblem(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
  if (volume.metadata.deletionTimestamp) return `the volume is marked for deletion "${volume.metadata.name}"`;
  if (classOf(volume) !== classOf(claim)) return "storageClassName does not match";
  return whyUnfit(volume, claim) ?? (offersModes(volume, claim) ? undefined : "incompatible accessMode");
}

function isFree(volume: PersistentVolume, claim: PersistentVolumeClaim): boolean {
  if (volume.status?.phase !== "Available") return false;
  const selector = labelSelectorOf(claim.spec?.selector);
  if (selector && !matchesLabels(selector, volume.metadata.labels)) return false;
  return classOf(volume) === classOf(claim) && offersModes(volume, claim);
}

function isBetter(volume: PersistentVolume, than: PersistentVolume): boolean {
  const modes = (each: PersistentVolume) => each.spec?.accessModes?.length ?? 0;
  if (modes(volume) !== modes(than)) return modes(volume) < modes(than);
  return compareQuantities(sizeOf(volume), sizeOf(than)) < 0;
}

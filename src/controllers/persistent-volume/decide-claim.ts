import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/objects.ts";
import {
  bindCompletedAnnotation,
  boundByControllerAnnotation,
  classOf,
  isHeldFor,
  namedClassOf,
  selectedNodeAnnotation,
} from "../../api/volume-binding.ts";
import type { EventToRecord } from "../../client/event-recorder.ts";
import { defaultClassOf } from "./default-class.ts";
import { findVolume, whyNot } from "./match-volume.ts";
import { annotationOf, heldKeyOf } from "./volume-facts.ts";

export interface ClaimFacts {
  readonly claim: PersistentVolumeClaim;
  volume(name: string): PersistentVolume | undefined;
  readonly volumes: Iterable<PersistentVolume>;
  readonly classes: readonly StorageClass[];
  /** Names of pods that use it and have no node yet. */
  waitingPods(): readonly string[];
}

export type ClaimPlan =
  | { readonly kind: "none" }
  /** It and the volume belong together: both sides are to say so. */
  | { readonly kind: "bind"; readonly volume: PersistentVolume }
  | { readonly kind: "phase"; readonly phase: "Pending" | "Lost"; readonly event?: EventToRecord }
  | { readonly kind: "assignClass"; readonly className: string }
  /** Somebody has to make a volume for it. */
  | { readonly kind: "provision"; readonly storageClass: StorageClass }
  /** What cannot be, and must be looked at by somebody. */
  | { readonly kind: "fail"; readonly event: EventToRecord; readonly message: string };

export function decideClaim(facts: ClaimFacts): ClaimPlan {
  const { claim } = facts;
  if (annotationOf(claim, bindCompletedAnnotation) !== undefined) return decideBound(facts);
  // Whoever deletes a claim does not want a volume for it any more.
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

/** The claim says which volume it wants. */
function decideNamed({ claim, volume }: ClaimFacts, name: string): ClaimPlan {
  const own = volume(name);
  if (!own) return { kind: "phase", phase: "Pending" };
  if (!own.spec?.claimRef) {
    const problem = whyNot(own, claim);
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

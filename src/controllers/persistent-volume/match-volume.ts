import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import { compareQuantities } from "../../api/quantity.ts";
import { labelSelectorOf, matchesLabels } from "../../api/selector.ts";
import { classOf, isHeldFor, offersModes, sizeOf, whyUnfit } from "../../api/volume-binding.ts";

/**
 * The volume that is held for a claim; else, of those that are free and fit, the smallest among those with the fewest
 * access modes. Where a pod must come first the scheduler chooses: then only the one that is held.
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

/** Why a volume that a claim names cannot be its own. */
export function whyNot(volume: PersistentVolume, claim: PersistentVolumeClaim): string | undefined {
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

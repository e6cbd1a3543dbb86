import { matcherOfSelector } from "../../api/node-matcher.ts";
import type { PersistentVolume, PersistentVolumeClaim } from "../../api/objects.ts";
import { compareQuantities, type Quantity } from "../../api/quantity.ts";
import { type LabelSelector, type Labels, matchesLabels } from "../../api/selector.ts";
import { classOf, isHeldFor, offersModes, sizeOf, whyUnfit } from "../../api/volume-binding.ts";
import { readSelector } from "../affinity-term.ts";

const matchers = new WeakMap<PersistentVolume, (labels: Labels) => boolean>();

/** Whether a volume can be reached from a node with these labels. */
export function isReachable(volume: PersistentVolume, labels: Labels): boolean {
  const required = volume.spec?.nodeAffinity?.required;
  if (!required) return true;
  let matches = matchers.get(volume);
  if (!matches) {
    const matcher = matcherOfSelector(required);
    matches = (nodeLabels) => matcher({ labels: nodeLabels });
    matchers.set(volume, matches);
  }
  return matches(labels);
}

interface Search {
  readonly claim: PersistentVolumeClaim;
  readonly volumes: readonly PersistentVolume[];
  readonly nodeLabels: Labels;
  /** Names of volumes that are spoken for. */
  readonly taken: ReadonlySet<string>;
}

/** The volume that is meant for a claim, else the smallest that is free, large enough and within reach. */
export function findVolume({ claim, volumes, nodeLabels, taken }: Search): PersistentVolume | undefined {
  const wanted: Wish = {
    claim,
    hasSelector: claim.spec?.selector !== undefined,
    selector: readSelector(claim.spec?.selector),
  };
  let smallest: { volume: PersistentVolume; size: Quantity } | undefined;
  for (const volume of volumes) {
    if (taken.has(volume.metadata.name ?? "") || !couldServe(volume, wanted)) continue;
    const canReach = isReachable(volume, nodeLabels);
    if (isHeldFor(volume, claim)) return canReach ? volume : undefined;
    if (!canReach || !isFree(volume, wanted)) continue;
    const size = sizeOf(volume);
    if (!smallest || compareQuantities(smallest.size, size) > 0) smallest = { volume, size };
  }
  return smallest?.volume;
}

interface Wish {
  readonly claim: PersistentVolumeClaim;
  readonly hasSelector: boolean;
  readonly selector: LabelSelector | undefined;
}

function couldServe(volume: PersistentVolume, { claim }: Wish): boolean {
  const { spec, metadata } = volume;
  if (spec?.claimRef && !isHeldFor(volume, claim)) return false;
  return metadata.deletionTimestamp === undefined && !whyUnfit(volume, claim);
}

function isFree(volume: PersistentVolume, { claim, selector, hasSelector }: Wish): boolean {
  if (volume.status?.phase !== "Available") return false;
  if (hasSelector && !(selector && matchesLabels(selector, volume.metadata.labels))) return false;
  return classOf(volume) === classOf(claim) && offersModes(volume, claim);
}

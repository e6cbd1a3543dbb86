import type { PersistentVolume, PersistentVolumeClaim, StorageClass } from "../../api/meta/objects.ts";
import { compareQuantities, parseQuantity, type Quantity } from "../../api/meta/quantity.ts";
import { type LabelSelector, type Labels, matchesLabels } from "../../api/meta/selector.ts";
import { matcherOfSelector } from "../../api/pod/node-matcher.ts";
import {
  bindCompletedAnnotation,
  classOf,
  isHeldFor,
  offersModes,
  selectedNodeAnnotation,
  sizeOf,
  whyUnfit,
} from "../../api/pod/volume-binding.ts";
import { readSelector } from "../model/affinity-term.ts";
import type { ApiObjects } from "../model/informers.ts";
import { labelOf, type NodeInfo } from "../model/node-info.ts";
import type { PodInfo } from "../model/pod-info.ts";

/** A pod's claims by binding state. */
export type PodClaims =
  | { readonly kind: "reject"; readonly reason: string }
  | {
      readonly kind: "claims";
      readonly bound: readonly PersistentVolumeClaim[];
      /** Unbound claims that are bound after the node is chosen (WaitForFirstConsumer). */
      readonly delayed: readonly PersistentVolumeClaim[];
    };

export function sortClaims(info: PodInfo, objects: ApiObjects): PodClaims {
  const found: PersistentVolumeClaim[] = [];
  for (const { claimName, isEphemeral } of info.volumes) {
    const claim = objects.claim(`${info.namespace}/${claimName}`);
    const reason = claimProblem(info, claim, { claimName, isEphemeral });
    if (reason || !claim) return { kind: "reject", reason };
    found.push(claim);
  }
  const bound: PersistentVolumeClaim[] = [];
  const delayed: PersistentVolumeClaim[] = [];
  for (const claim of found) {
    if (isFullyBound(claim)) bound.push(claim);
    else if (isDelayed(claim, objects) && !claim.spec?.volumeName) delayed.push(claim);
    else return { kind: "reject", reason: "pod has unbound immediate PersistentVolumeClaims" };
  }
  return { kind: "claims", bound, delayed };
}

function claimProblem(
  { pod, key }: PodInfo,
  claim: PersistentVolumeClaim | undefined,
  { claimName, isEphemeral }: PodInfo["volumes"][number],
): string {
  if (!claim) {
    return isEphemeral
      ? `waiting for ephemeral volume controller to create the persistentvolumeclaim "${claimName}"`
      : `persistentvolumeclaim "${claimName}" not found`;
  }
  if (claim.status?.phase === "Lost") {
    const volumeName = claim.spec?.volumeName ?? "";
    return `persistentvolumeclaim "${claimName}" bound to non-existent persistentvolume "${volumeName}"`;
  }
  const { deletionTimestamp, ownerReferences = [], namespace } = claim.metadata;
  if (deletionTimestamp) return `persistentvolumeclaim "${claimName}" is being deleted`;
  const isOwn = ownerReferences.some(({ controller, uid }) => controller && uid === pod.metadata.uid);
  if (isEphemeral && !isOwn) {
    return `PVC ${namespace}/${claimName} was not created for pod ${key} (pod is not owner)`;
  }
  return "";
}

/** API writes that are required before a pod can run on a node. */
export interface VolumePlan {
  readonly bindings: readonly {
    readonly claim: PersistentVolumeClaim;
    readonly volume: PersistentVolume;
  }[];
  /** Claims for which a volume is provisioned on the node. */
  readonly provisions: readonly PersistentVolumeClaim[];
}

export const emptyPlan: VolumePlan = { bindings: [], provisions: [] };

export type NodePlan =
  | { readonly kind: "plan"; readonly plan: VolumePlan }
  | { readonly kind: "reject"; readonly reasons: readonly string[] };

const otherNodes = "node(s) didn't match PersistentVolume's node affinity";
const nothingToBind = "node(s) didn't find available persistent volumes to bind";
const missingVolume = "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)";

export function planForNode(
  { bound, delayed }: Extract<PodClaims, { kind: "claims" }>,
  node: NodeInfo,
  objects: ApiObjects,
): NodePlan {
  const boundProblem = checkBound(bound, node, objects);
  const plan = delayed.length === 0 ? emptyPlan : planDelayed(delayed, node, objects);
  const reasons: string[] = [];
  if (boundProblem === otherNodes) reasons.push(boundProblem);
  if (!plan) reasons.push(nothingToBind);
  if (boundProblem === missingVolume) reasons.push(boundProblem);
  return plan && reasons.length === 0 ? { kind: "plan", plan } : { kind: "reject", reasons };
}

function checkBound(
  claims: readonly PersistentVolumeClaim[],
  { labels }: NodeInfo,
  objects: ApiObjects,
): string | undefined {
  for (const { spec } of claims) {
    const volume = objects.volume(spec?.volumeName ?? "");
    if (!volume) return missingVolume;
    if (!isReachable(volume, labels)) return otherNodes;
  }
  return undefined;
}

function planDelayed(
  claims: readonly PersistentVolumeClaim[],
  node: NodeInfo,
  objects: ApiObjects,
): VolumePlan | undefined {
  const provisions: PersistentVolumeClaim[] = [];
  const toMatch: PersistentVolumeClaim[] = [];
  for (const claim of claims) {
    const selected = labelOf(claim.metadata.annotations, selectedNodeAnnotation);
    if (selected === undefined) toMatch.push(claim);
    else if (selected !== node.name) return undefined;
    else provisions.push(claim);
  }
  const bindings: { claim: PersistentVolumeClaim; volume: PersistentVolume }[] = [];
  const taken = new Set<string>();
  for (const claim of toMatch.sort(bySize)) {
    const volumes = objects.volumesOfClass(classOf(claim));
    const volume = findVolume({ claim, volumes, nodeLabels: node.labels, taken });
    if (volume) {
      taken.add(volume.metadata.name ?? "");
      bindings.push({ claim, volume });
    } else {
      provisions.push(claim);
    }
  }
  const canProvision = provisions.every((claim) => canBeProvisioned(claim, node, objects));
  return canProvision ? { bindings, provisions } : undefined;
}

function canBeProvisioned(claim: PersistentVolumeClaim, node: NodeInfo, objects: ApiObjects): boolean {
  const className = classOf(claim);
  const storageClass = objects.storageClass(className);
  if (!storageClass) throw new Error(`failed to find storage class "${className}"`);
  const { provisioner, allowedTopologies } = storageClass;
  if (!provisioner || provisioner === "kubernetes.io/no-provisioner") return false;
  return matchesTopologies(allowedTopologies, node);
}

function matchesTopologies(terms: StorageClass["allowedTopologies"], { labels }: NodeInfo): boolean {
  if (!terms?.length) return true;
  return terms.some(({ matchLabelExpressions = [] }) => {
    // An empty term selects nothing.
    if (matchLabelExpressions.length === 0) return false;
    return matchLabelExpressions.every(({ key, values }) => {
      const value = labelOf(labels, key);
      return value !== undefined && values.includes(value);
    });
  });
}

/** Sorts claims by size, so that large volumes remain for the claims that need them. */
function bySize(a: PersistentVolumeClaim, b: PersistentVolumeClaim): number {
  const size = ({ spec }: PersistentVolumeClaim) => parseQuantity(spec?.resources?.requests?.storage ?? "0");
  return compareQuantities(size(a), size(b));
}

/** Reports whether volume and claim are bound to each other. */
export function isFullyBound({ metadata, spec }: PersistentVolumeClaim): boolean {
  return Boolean(spec?.volumeName) && labelOf(metadata.annotations, bindCompletedAnnotation) !== undefined;
}

/** Reports whether binding waits for the first consumer. */
function isDelayed(claim: PersistentVolumeClaim, objects: ApiObjects): boolean {
  const className = classOf(claim);
  const storageClass = className ? objects.storageClass(className) : undefined;
  if (!storageClass) return false;
  if (!storageClass.volumeBindingMode) {
    throw new Error(`VolumeBindingMode not set for StorageClass "${className}"`);
  }
  return storageClass.volumeBindingMode === "WaitForFirstConsumer";
}

const matchers = new WeakMap<PersistentVolume, (labels: Labels) => boolean>();

/** Reports whether the volume's node affinity matches these node labels. */
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
  /** Names of volumes that the plan already uses. */
  readonly taken: ReadonlySet<string>;
}

/** Finds the volume reserved for the claim, else the smallest available one that is large enough and reachable. */
function findVolume({ claim, volumes, nodeLabels, taken }: Search): PersistentVolume | undefined {
  const wanted: ClaimRequirements = {
    claim,
    hasSelector: claim.spec?.selector !== undefined,
    selector: readSelector(claim.spec?.selector),
  };
  let smallest: { volume: PersistentVolume; size: Quantity } | undefined;
  for (const volume of volumes) {
    if (taken.has(volume.metadata.name ?? "") || !couldServe(volume, wanted)) continue;
    const canReach = isReachable(volume, nodeLabels);
    if (isHeldFor(volume, claim)) return canReach ? volume : undefined;
    if (!canReach || !isAvailable(volume, wanted)) continue;
    const size = sizeOf(volume);
    if (!smallest || compareQuantities(smallest.size, size) > 0) smallest = { volume, size };
  }
  return smallest?.volume;
}

interface ClaimRequirements {
  readonly claim: PersistentVolumeClaim;
  readonly hasSelector: boolean;
  readonly selector: LabelSelector | undefined;
}

function couldServe(volume: PersistentVolume, { claim }: ClaimRequirements): boolean {
  const { spec, metadata } = volume;
  if (spec?.claimRef && !isHeldFor(volume, claim)) return false;
  return metadata.deletionTimestamp === undefined && !whyUnfit(volume, claim);
}

function isAvailable(volume: PersistentVolume, { claim, selector, hasSelector }: ClaimRequirements): boolean {
  if (volume.status?.phase !== "Available") return false;
  if (hasSelector && !(selector && matchesLabels(selector, volume.metadata.labels))) return false;
  return classOf(volume) === classOf(claim) && offersModes(volume, claim);
}

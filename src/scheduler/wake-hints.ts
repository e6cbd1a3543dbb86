import { isEqual } from "../api/is-equal.ts";
import { requiredNodes } from "../api/node-matcher.ts";
import { matchesLabels } from "../api/selector.ts";
import { matchesTerm } from "./affinity-term.ts";
import type { PluginName } from "./filter/filter.ts";
import { fitsEmpty, fitsNode } from "./filter/resources-fit.ts";
import { findUntolerated } from "./filter/tolerates.ts";
import { exclusiveDisks, shareDisk } from "./filter/volume-restrictions.ts";
import { sharePort } from "./host-ports.ts";
import type { NodeInfo } from "./node-info.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Allocatable, Resources } from "./resources.ts";
import type { ApiObjects } from "./snapshot.ts";
import { readConstraints } from "./spread-constraint.ts";

/** Something that can make room for a pod. */
export type ClusterChange =
  | { readonly kind: "node"; readonly node: NodeInfo; readonly previous: NodeInfo | undefined }
  | { readonly kind: "nodeGone" }
  /** A pod left its node, or counts differently there. */
  | { readonly kind: "podGone"; readonly pod: PodInfo; readonly node: NodeInfo | undefined }
  | { readonly kind: "podPlaced"; readonly pod: PodInfo }
  | { readonly kind: "claim"; readonly namespace: string; readonly name: string }
  | { readonly kind: "volume" | "storageClass" | "namespace" };

/** Whether a change may help a pod, by the plugin that turned the pod away. */
export type Hints = Readonly<Partial<Record<PluginName, (waiting: PodInfo) => boolean>>>;

/** Which pods a change may help: to be wrong costs a try, to miss one costs minutes. */
export function hintsOf(change: ClusterChange, objects: ApiObjects): Hints {
  switch (change.kind) {
    case "node":
      return nodeHints(change.node, change.previous);
    case "nodeGone":
      return { PodTopologySpread: always };
    case "podGone":
      return {
        NodePorts: (waiting) => sharePort(change.pod.hostPorts, waiting.hostPorts),
        // Room is only where the pod was: of those that wait, who does not fit there now need not try.
        NodeResourcesFit: ({ requests }) => change.node !== undefined && fitsNode(requests, change.node),
        VolumeRestrictions: (waiting) => sharesVolume(waiting, change.pod),
        PodTopologySpread: (waiting) => countsForSpread(waiting, change.pod),
        InterPodAffinity: (waiting) => concernsAffinity(waiting, change.pod, objects),
      };
    case "podPlaced":
      return {
        PodTopologySpread: (waiting) => countsForSpread(waiting, change.pod),
        InterPodAffinity: (waiting) => isWantedNear(waiting, change.pod, objects),
      };
    case "claim": {
      const usesClaim = ({ namespace, volumes }: PodInfo) =>
        change.namespace === namespace && volumes.some(({ claimName }) => claimName === change.name);
      return { VolumeBinding: usesClaim, VolumeRestrictions: usesClaim, VolumeZone: usesClaim };
    }
    case "volume":
    case "storageClass":
      return { VolumeBinding: always, VolumeZone: always };
    case "namespace":
      return { InterPodAffinity: always };
  }
}

const always = () => true;

function nodeHints(node: NodeInfo, previous: NodeInfo | undefined): Hints {
  const isNew = !previous;
  const isRelabelled = isNew || !isEqual(previous.labels, node.labels);
  const isRetainted = isNew || !isEqual(previous.node.spec?.taints, node.node.spec?.taints);
  const isOpened = !node.node.spec?.unschedulable && (isNew || Boolean(previous.node.spec?.unschedulable));
  return {
    NodeUnschedulable: () => isOpened,
    NodeName: () => isNew,
    TaintToleration: ({ pod }) =>
      isRetainted && !findUntolerated(node.node.spec?.taints, pod.spec?.tolerations),
    NodeAffinity: ({ pod }) => isRelabelled && (requiredNodes(pod)?.(node) ?? true),
    NodePorts: () => isNew,
    NodeResourcesFit: ({ requests }) =>
      fitsEmpty(requests, node.allocatable) &&
      (isNew || hasMore(requests, previous.allocatable, node.allocatable)),
    VolumeRestrictions: () => isNew,
    VolumeBinding: () => isRelabelled,
    VolumeZone: () => isRelabelled,
    PodTopologySpread: () => isRelabelled || isRetainted,
    InterPodAffinity: () => isRelabelled,
  };
}

function countsForSpread(waiting: PodInfo, { namespace, labels }: PodInfo): boolean {
  if (namespace !== waiting.namespace) return false;
  const constraints = readConstraints(waiting, "DoNotSchedule");
  return constraints.some(({ selector }) => selector && matchesLabels(selector, labels));
}

function isWantedNear(waiting: PodInfo, placed: PodInfo, objects: ApiObjects): boolean {
  const labels = objects.namespaceLabels(placed.namespace);
  return waiting.affinity.required.some((term) => matchesTerm(term, placed, labels));
}

function hasMore(wanted: Resources, before: Allocatable, after: Allocatable): boolean {
  if (after.pods > before.pods) return true;
  for (const name of ["cpu", "memory", "ephemeralStorage"] as const) {
    if (wanted[name] > 0 && after[name] > before[name]) return true;
  }
  for (const [name, amount] of wanted.scalars) {
    if (amount > 0 && (after.scalars.get(name) ?? 0) > (before.scalars.get(name) ?? 0)) return true;
  }
  return false;
}

function sharesVolume(waiting: PodInfo, gone: PodInfo): boolean {
  const names = new Set(gone.volumes.map(({ claimName }) => claimName));
  const sharesClaim = waiting.volumes.some(({ claimName }) => names.has(claimName));
  if (sharesClaim && waiting.namespace === gone.namespace) return true;
  const disks = exclusiveDisks(gone);
  return exclusiveDisks(waiting).some((disk) => disks.some((other) => shareDisk(disk, other)));
}

/** Whether one of the two did not want the other near; or the one that is gone was whom the other wanted near. */
function concernsAffinity(waiting: PodInfo, gone: PodInfo, objects: ApiObjects): boolean {
  const ofGone = objects.namespaceLabels(gone.namespace);
  const ofWaiting = objects.namespaceLabels(waiting.namespace);
  return (
    [...waiting.affinity.requiredAnti, ...waiting.affinity.required].some((term) =>
      matchesTerm(term, gone, ofGone),
    ) || gone.affinity.requiredAnti.some((term) => matchesTerm(term, waiting, ofWaiting))
  );
}

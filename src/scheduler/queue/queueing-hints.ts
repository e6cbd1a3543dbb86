import { isEqual } from "../../api/meta/is-equal.ts";
import { matchesLabels } from "../../api/meta/selector.ts";
import { sharePort } from "../../api/pod/host-ports.ts";
import { requiredNodes } from "../../api/pod/node-matcher.ts";
import type { PluginName } from "../filters/filter.ts";
import { fitsEmpty, fitsNode } from "../filters/node-filters.ts";
import { exclusiveDisks, shareDisk } from "../filters/volume-filters.ts";
import { matchesTerm } from "../model/affinity-term.ts";
import type { ApiObjects } from "../model/informers.ts";
import { findUntolerated, type NodeInfo } from "../model/node-info.ts";
import type { Allocatable, PodInfo, Resources } from "../model/pod-info.ts";
import { readConstraints } from "../model/spread-constraint.ts";

/** Cluster event that can make a pod schedulable. */
export type ClusterChange =
  | { readonly kind: "node"; readonly node: NodeInfo; readonly previous: NodeInfo | undefined }
  | { readonly kind: "nodeGone" }
  /** A pod left its node, or its resource usage changed. */
  | { readonly kind: "podGone"; readonly pod: PodInfo; readonly node: NodeInfo | undefined }
  | { readonly kind: "podPlaced"; readonly pod: PodInfo }
  | { readonly kind: "claim"; readonly namespace: string; readonly name: string }
  | { readonly kind: "volume" | "storageClass" | "namespace" };

/** Queueing hints by plugin: whether a change may help a pod that the plugin rejected. */
export type Hints = Readonly<Partial<Record<PluginName, (waiting: PodInfo) => boolean>>>;

/** Queueing hints for a change. A false positive costs an attempt, a false negative costs minutes. */
export function queueingHints(change: ClusterChange, objects: ApiObjects): Hints {
  switch (change.kind) {
    case "node":
      return nodeHints(change.node, change.previous);
    case "nodeGone":
      return { PodTopologySpread: always };
    case "podGone":
      return {
        NodePorts: (waiting) => sharePort(change.pod.hostPorts, waiting.hostPorts),
        // Resources were freed on one node only: pods that do not fit there are not retried.
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

/** Reports whether an affinity or anti-affinity term of either pod matches the other. */
function concernsAffinity(waiting: PodInfo, gone: PodInfo, objects: ApiObjects): boolean {
  const ofGone = objects.namespaceLabels(gone.namespace);
  const ofWaiting = objects.namespaceLabels(waiting.namespace);
  return (
    [...waiting.affinity.requiredAnti, ...waiting.affinity.required].some((term) =>
      matchesTerm(term, gone, ofGone),
    ) || gone.affinity.requiredAnti.some((term) => matchesTerm(term, waiting, ofWaiting))
  );
}

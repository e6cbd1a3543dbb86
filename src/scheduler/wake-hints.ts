import { isEqual } from "../api/equality.ts";
import { matchesLabels } from "../api/selector.ts";
import { matchesTerm } from "./affinity-term.ts";
import type { PluginName } from "./filter/filter.ts";
import { fitsEmpty } from "./filter/resources-fit.ts";
import { findUntolerated } from "./filter/tolerates.ts";
import { exclusiveDisks, shareDisk } from "./filter/volume-restrictions.ts";
import { sharePort } from "./host-ports.ts";
import type { NodeInfo } from "./node-info.ts";
import { requiredNodes } from "./node-matcher.ts";
import type { PodInfo } from "./pod-info.ts";
import type { Allocatable, Resources } from "./resources.ts";
import type { ApiObjects } from "./snapshot.ts";
import { readConstraints } from "./spread-constraint.ts";

/** Something that can make room for a pod. */
export type ClusterChange =
  | { readonly kind: "node"; readonly node: NodeInfo; readonly previous: NodeInfo | undefined }
  | { readonly kind: "nodeGone" }
  /** A pod left its node, or counts less than before. */
  | { readonly kind: "podGone"; readonly pod: PodInfo }
  | { readonly kind: "podPlaced"; readonly pod: PodInfo }
  | { readonly kind: "claim"; readonly namespace: string; readonly name: string }
  | { readonly kind: "volume" | "storageClass" | "namespace" };

type Hint<Kind extends ClusterChange["kind"]> = (
  waiting: PodInfo,
  change: Extract<ClusterChange, { kind: Kind }>,
  objects: ApiObjects,
) => boolean;

type Hints = {
  readonly [Kind in ClusterChange["kind"]]: Partial<Record<PluginName, Hint<Kind>>>;
};

const always = () => true;
const isNew: Hint<"node"> = (_, { previous }) => !previous;
const isNewOrRelabelled: Hint<"node"> = (_, { node, previous }) =>
  !previous || !isEqual(previous.labels, node.labels);
const usesClaim: Hint<"claim"> = ({ namespace, volumes }, change) =>
  change.namespace === namespace && volumes.some(({ claimName }) => claimName === change.name);
const countsForSpread: Hint<"podGone" | "podPlaced"> = (waiting, { pod }) =>
  pod.namespace === waiting.namespace &&
  readConstraints(waiting, "DoNotSchedule").some(
    ({ selector }) => selector && matchesLabels(selector, pod.labels),
  );

/** Which changes may help a pod that a plugin turned away: to be wrong costs a try, to miss one costs minutes. */
const hints: Hints = {
  node: {
    NodeUnschedulable: (_, { node: { node }, previous }) =>
      !node.spec?.unschedulable && (!previous || Boolean(previous.node.spec?.unschedulable)),
    NodeName: isNew,
    TaintToleration: ({ pod }, { node, previous }) => {
      const keepsOut = ({ node: { spec } }: NodeInfo) =>
        findUntolerated(spec?.taints, pod.spec?.tolerations) !== undefined;
      return !keepsOut(node) && (!previous || keepsOut(previous));
    },
    NodeAffinity: ({ pod }, { node, previous }) => {
      const matches = requiredNodes(pod);
      return !matches || (matches(node) && (!previous || !matches(previous)));
    },
    NodePorts: isNew,
    NodeResourcesFit: ({ requests }, { node, previous }) =>
      fitsEmpty(requests, node.allocatable) &&
      (!previous || hasMore(requests, previous.allocatable, node.allocatable)),
    VolumeRestrictions: isNew,
    VolumeBinding: isNewOrRelabelled,
    VolumeZone: isNewOrRelabelled,
    PodTopologySpread: (_, { node, previous }) =>
      !previous ||
      !isEqual(previous.labels, node.labels) ||
      !isEqual(previous.node.spec?.taints, node.node.spec?.taints),
    InterPodAffinity: isNewOrRelabelled,
  },
  nodeGone: { PodTopologySpread: always },
  podGone: {
    NodePorts: (waiting, { pod }) => sharePort(pod.hostPorts, waiting.hostPorts),
    NodeResourcesFit: always,
    VolumeRestrictions: (waiting, { pod }) => sharesVolume(waiting, pod),
    PodTopologySpread: countsForSpread,
    InterPodAffinity: (waiting, { pod }, objects) => concernsAffinity(waiting, pod, objects),
  },
  podPlaced: {
    PodTopologySpread: countsForSpread,
    InterPodAffinity: (waiting, { pod }, objects) =>
      waiting.affinity.required.some((term) =>
        matchesTerm(term, pod, objects.namespaceLabels(pod.namespace)),
      ),
  },
  claim: { VolumeBinding: usesClaim, VolumeRestrictions: usesClaim, VolumeZone: usesClaim },
  volume: { VolumeBinding: always, VolumeZone: always },
  storageClass: { VolumeBinding: always, VolumeZone: always },
  namespace: { InterPodAffinity: always },
};

/** The plugins whose refusals a kind of change may undo. */
export function pluginsHelpedBy({ kind }: ClusterChange): readonly PluginName[] {
  return Object.keys(hints[kind]) as PluginName[];
}

export function mayHelp(
  change: ClusterChange,
  { waiting, plugin, objects }: { waiting: PodInfo; plugin: PluginName; objects: ApiObjects },
): boolean {
  // The kind chooses the row, so the row's hints take the change.
  const hint = hints[change.kind][plugin] as Hint<ClusterChange["kind"]> | undefined;
  return hint?.(waiting, change, objects) ?? false;
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
  if (waiting.namespace !== gone.namespace) return false;
  const names = new Set(gone.volumes.map(({ claimName }) => claimName));
  if (waiting.volumes.some(({ claimName }) => names.has(claimName))) return true;
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

import type { Node, Pod } from "../api/objects.ts";
import type { Change } from "../client/informer.ts";
import type { Clock } from "../lib/clock.ts";
import type { ClusterState } from "./cluster-state.ts";
import { countsDifferently, describePod, type PodInfo } from "./pod-info.ts";
import type { SchedulingQueue } from "./scheduling-queue.ts";
import type { Sources } from "./sources.ts";
import { type ClusterChange, hintsOf } from "./wake-hints.ts";

export interface FollowDeps {
  readonly sources: Sources;
  readonly state: ClusterState;
  readonly queue: SchedulingQueue;
  readonly schedulerName: string;
  readonly clock: Clock;
  /** There may be something to do. */
  onChange(): void;
  /** A pod that was decided about is gone, or will be. */
  onPodLeaving(uid: string): void;
  onVolumesChange(): void;
}

/** Lets pods be tried again that a change may help. */
export type TellChange = (change: ClusterChange) => void;

/** Keeps the state and the queue like the API's objects. */
export function followCluster(deps: FollowDeps): TellChange {
  const { sources, queue, state, clock, onChange, onVolumesChange } = deps;
  const tell: TellChange = (change) => {
    queue.wake(hintsOf(change, state.objects), clock.now());
    onChange();
  };

  sources.nodes.onChange((change) => onNodeChange(state, change, tell));
  sources.pods.onChange((change) => onPodChange(deps, change, tell));
  sources.namespaces.onChange(() => tell({ kind: "namespace" }));
  sources.claims.onChange((change) => {
    const { namespace = "", name = "" } = change.object.metadata;
    onVolumesChange();
    if (change.kind !== "deleted") tell({ kind: "claim", namespace, name });
  });
  sources.volumes.onChange((change) => {
    onVolumesChange();
    if (change.kind !== "deleted") tell({ kind: "volume" });
  });
  sources.storageClasses.onChange((change) => {
    if (change.kind !== "deleted") tell({ kind: "storageClass" });
  });
  return tell;
}

function onNodeChange(state: ClusterState, change: Change<Node>, tell: TellChange): void {
  const name = change.object.metadata.name ?? "";
  if (change.kind === "deleted") {
    state.removeNode(name);
    tell({ kind: "nodeGone" });
    return;
  }
  const previous = state.node(name);
  state.putNode(change.object);
  const node = state.node(name);
  if (node) tell({ kind: "node", node, previous });
}

function onPodChange(deps: FollowDeps, change: Change<Pod>, tell: TellChange): void {
  const { state, queue, schedulerName } = deps;
  const { uid = "", deletionTimestamp } = change.object.metadata;
  const before = state.placed(uid);
  if (change.kind === "deleted") {
    queue.remove(uid);
    deps.onPodLeaving(uid);
    state.removePod(uid);
    if (before) tell({ kind: "podGone", pod: before.info, node: state.node(before.nodeName) });
    return;
  }
  const info = describePod(change.object);
  const nodeName = info.pod.spec?.nodeName;
  if (nodeName) {
    queue.remove(uid);
    placePod(state, info, nodeName, tell);
    return;
  }
  if (info.pod.spec?.schedulerName !== schedulerName) return;
  // A pod that shall go is not bound any more: the API would refuse it.
  if (deletionTimestamp) {
    queue.remove(uid);
    deps.onPodLeaving(uid);
    return;
  }
  queue.put(info);
  deps.onChange();
}

function placePod(state: ClusterState, info: PodInfo, nodeName: string, tell: TellChange): void {
  const before = state.placed(info.uid);
  const isKnown = before?.nodeName === nodeName && !countsDifferently(before.info, info);
  if (isKnown && !before.isAssumed) return;
  state.placePod(info, nodeName);
  if (before && !isKnown) tell({ kind: "podGone", pod: before.info, node: state.node(before.nodeName) });
  tell({ kind: "podPlaced", pod: info });
}

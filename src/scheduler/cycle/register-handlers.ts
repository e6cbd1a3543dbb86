import type { Node, Pod } from "../../api/meta/objects.ts";
import type { Change } from "../../client/informers/informer.ts";
import type { Clock } from "../../lib/clock.ts";
import type { ClusterState } from "../model/cluster-state.ts";
import type { Informers } from "../model/informers.ts";
import { countsDifferently, describePod, type PodInfo } from "../model/pod-info.ts";
import { type ClusterChange, queueingHints } from "../queue/queueing-hints.ts";
import type { SchedulingQueue } from "../queue/scheduling-queue.ts";

export interface HandlerDeps {
  readonly informers: Informers;
  readonly state: ClusterState;
  readonly queue: SchedulingQueue;
  readonly schedulerName: string;
  readonly clock: Clock;
  /** Called when a scheduling attempt may be possible. */
  onChange(): void;
  /** Called when a pod is deleted or terminating, to cancel its binding. */
  onPodLeaving(uid: string): void;
  onVolumesChange(): void;
}

/** Requeues the pods that a cluster change may make schedulable. */
export type RequeueOnChange = (change: ClusterChange) => void;

/** Registers informer handlers that keep the cluster state and the scheduling queue up to date. */
export function registerHandlers(deps: HandlerDeps): RequeueOnChange {
  const { informers, queue, state, clock, onChange, onVolumesChange } = deps;
  const requeue: RequeueOnChange = (change) => {
    queue.applyHints(queueingHints(change, state.objects), clock.now());
    onChange();
  };

  informers.nodes.onChange((change) => onNodeChange(state, change, requeue));
  informers.pods.onChange((change) => onPodChange(deps, change, requeue));
  informers.namespaces.onChange(() => requeue({ kind: "namespace" }));
  informers.claims.onChange((change) => {
    const { namespace = "", name = "" } = change.object.metadata;
    onVolumesChange();
    if (change.kind !== "deleted") requeue({ kind: "claim", namespace, name });
  });
  informers.volumes.onChange((change) => {
    onVolumesChange();
    if (change.kind !== "deleted") requeue({ kind: "volume" });
  });
  informers.storageClasses.onChange((change) => {
    if (change.kind !== "deleted") requeue({ kind: "storageClass" });
  });
  return requeue;
}

function onNodeChange(state: ClusterState, change: Change<Node>, requeue: RequeueOnChange): void {
  const name = change.object.metadata.name ?? "";
  if (change.kind === "deleted") {
    state.removeNode(name);
    requeue({ kind: "nodeGone" });
    return;
  }
  const previous = state.node(name);
  state.putNode(change.object);
  const node = state.node(name);
  if (node) requeue({ kind: "node", node, previous });
}

function onPodChange(deps: HandlerDeps, change: Change<Pod>, requeue: RequeueOnChange): void {
  const { state, queue, schedulerName } = deps;
  const { uid = "", deletionTimestamp } = change.object.metadata;
  const before = state.placed(uid);
  if (change.kind === "deleted") {
    queue.remove(uid);
    deps.onPodLeaving(uid);
    state.removePod(uid);
    if (before) requeue({ kind: "podGone", pod: before.info, node: state.node(before.nodeName) });
    return;
  }
  const info = describePod(change.object);
  const nodeName = info.pod.spec?.nodeName;
  if (nodeName) {
    queue.remove(uid);
    placePod(state, info, nodeName, requeue);
    return;
  }
  if (info.pod.spec?.schedulerName !== schedulerName) return;
  // A terminating pod is not bound: the API server would reject the binding.
  if (deletionTimestamp) {
    queue.remove(uid);
    deps.onPodLeaving(uid);
    return;
  }
  queue.put(info);
  deps.onChange();
}

function placePod(state: ClusterState, info: PodInfo, nodeName: string, requeue: RequeueOnChange): void {
  const before = state.placed(info.uid);
  const isKnown = before?.nodeName === nodeName && !countsDifferently(before.info, info);
  if (isKnown && !before.isAssumed) return;
  state.placePod(info, nodeName);
  if (before && !isKnown) requeue({ kind: "podGone", pod: before.info, node: state.node(before.nodeName) });
  requeue({ kind: "podPlaced", pod: info });
}

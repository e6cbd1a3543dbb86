import type { Pod } from "../../api/meta/objects.ts";
import type { PodFacts } from "../../explain/explanation.ts";
import { pullsFromEvents } from "../../explain/pulls-from-events.ts";
import type { Logger } from "../../lib/logger.ts";
import type { StartingChange, StartingPod } from "../tracking/monitor.ts";
import type { PodView } from "./feed-message.ts";
import type { KubeletPodState, KubeletPoller, PollTarget } from "./kubelet-poller.ts";
import { containersInStartup, viewPod } from "./view-pod.ts";
import { createViewTable, type ViewChanges } from "./view-table.ts";

/** Views of starting pods, recomputed for pods that changed. */
export interface StartingViews {
  apply(change: StartingChange): void;
  /** Marks the view of a pod for recomputation. */
  markDirty(uid: string): void;
  /** Marks the views of all pods on a node for recomputation. */
  markNodeDirty(name: string): void;
  /** Replaces all pods. */
  reset(pods: Iterable<StartingPod>): void;
  /** Recomputes at most `maxViews` views. Returns whether more are left. */
  update(now: number, maxViews: number): boolean;
  takeChanges(): ViewChanges;
  texts(): Iterable<string>;
  find(uid: string): StartingPod | undefined;
  /** Number of starting pods, including those beyond the capacity. */
  count(): number;
}

interface StartingViewsOptions {
  readonly kubelets: Pick<KubeletPoller, "get" | "setTarget">;
  readonly logger: Logger;
  /** Finds a node by name. Undefined as long as the nodes are not known. */
  findNode(name: string): PodFacts["node"];
  /** Maximum number of views. Further pods are added when others finish. */
  readonly capacity: number;
}

export function createStartingViews({
  kubelets,
  logger,
  findNode,
  capacity,
}: StartingViewsOptions): StartingViews {
  const pods = new Map<string, StartingPod>();
  const table = createViewTable();
  const shown = new Set<string>();
  /** Pods beyond the capacity. */
  const hidden = new Set<string>();
  /** Shown pods whose views have to be recomputed. */
  const dirty = new Set<string>();

  function show(uid: string): void {
    shown.add(uid);
    dirty.add(uid);
  }

  function changed(starting: StartingPod): void {
    const { uid } = starting.start.pod;
    pods.set(uid, starting);
    if (shown.has(uid) || shown.size < capacity) show(uid);
    else hidden.add(uid);
  }

  function gone(uid: string): void {
    pods.delete(uid);
    hidden.delete(uid);
    if (!shown.delete(uid)) return;
    dirty.delete(uid);
    table.delete(uid);
    kubelets.setTarget(uid, undefined);
    const [next] = hidden;
    if (next === undefined) return;
    hidden.delete(next);
    show(next);
  }

  function refresh(starting: StartingPod, now: number): void {
    const { pod, events, start } = starting;
    const { pod: ref, beganMs } = start;
    const { uid } = ref;
    const node = pod.spec?.nodeName ? findNode(pod.spec.nodeName) : undefined;
    const view = viewPod({ pod, events, beganMs, ...currentState(starting, kubelets.get(uid)), node, now });
    table.set(uid, view);
    kubelets.setTarget(uid, targetFor(pod, view));
  }

  return {
    apply: (change) => (change.kind === "changed" ? changed(change.starting) : gone(change.uid)),
    markDirty: (uid) => void (shown.has(uid) && dirty.add(uid)),
    markNodeDirty(name) {
      for (const uid of shown) if (pods.get(uid)?.pod.spec?.nodeName === name) dirty.add(uid);
    },
    reset(all) {
      table.clear();
      for (const each of [pods, shown, hidden, dirty]) each.clear();
      for (const starting of all) changed(starting);
    },
    update(now, maxViews) {
      let left = maxViews;
      for (const uid of dirty) {
        if (left-- === 0) return true;
        dirty.delete(uid);
        const starting = pods.get(uid);
        if (!starting) continue;
        try {
          refresh(starting, now);
        } catch (error) {
          // An invalid pod must not prevent the others from being shown.
          logger.warn("computing the view of a pod failed", { pod: starting.start.pod, error });
        }
      }
      return false;
    },
    takeChanges: table.takeChanges,
    texts: table.texts,
    find: (uid) => pods.get(uid),
    count: () => pods.size,
  };
}

/** Whether a container is waiting, possibly for its image. */
function hasWaiting({ spec, status }: Pod): boolean {
  const statuses = [...(status?.initContainerStatuses ?? []), ...(status?.containerStatuses ?? [])];
  const expected = (spec?.initContainers?.length ?? 0) + (spec?.containers.length ?? 0);
  return statuses.length < expected || statuses.some(({ state }) => !state || state.waiting);
}

/** Omits pulls once no container is waiting. Pulls that the node does not report come from its events. */
function currentState({ pod, events }: StartingPod, state: KubeletPodState): KubeletPodState {
  if (!hasWaiting(pod)) return { ...state, pulls: [] };
  if (state.pulls.length > 0) return state;
  return { ...state, pulls: pullsFromEvents(events) };
}

const stagesWithPulls: ReadonlySet<PodView["stage"]> = new Set([
  "pulling",
  "creating",
  "starting",
  "readiness",
]);

/** State to request from the pod's kubelet. Undefined if none is needed. */
function targetFor(pod: Pod, { uid, namespace, name, stage }: PodView): PollTarget | undefined {
  const node = pod.spec?.nodeName;
  if (!node) return undefined;
  const about = new Set<"pulls" | "budgets">();
  if (stagesWithPulls.has(stage) && hasWaiting(pod)) about.add("pulls");
  if (containersInStartup(pod).length > 0) about.add("budgets");
  return about.size > 0 ? { uid, namespace, name, node, about } : undefined;
}

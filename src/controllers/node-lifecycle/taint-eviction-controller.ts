import { formatTime } from "../../api/format-time.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { Node, Pod } from "../../api/objects.ts";
import { keyOf } from "../../client/object-key.ts";
import { isConflict, isNotFound } from "../../client/status-errors.ts";
import type { WorkQueue } from "../../client/work-queue.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import { decideEviction, evictingTaints } from "./decide-eviction.ts";
import { writePodCondition } from "./write-pod-condition.ts";

/** Makes pods leave nodes with NoExecute taints that they do not tolerate, or not for longer, until the signal aborts. */
export function runTaintEvictionController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const recorder = context.recorder("taint-eviction-controller");
  const nodes = informers.of("nodes");
  const pods = informers.of("pods");
  /** Since when nodes have been seen with such taints. */
  const seenAt = new Map<string, number>();
  /** Pods that are to leave later. */
  const leaving = new Set<string>();

  function watch(queue: Pick<WorkQueue, "add">): void {
    nodes.onChange((change) => {
      const { name = "" } = change.object.metadata;
      const taints = change.kind === "deleted" ? [] : evictingTaints(change.object);
      const before = change.kind === "changed" ? evictingTaints(change.previous) : [];
      if (taints.length > 0 && !seenAt.has(name)) seenAt.set(name, clock.now());
      if (taints.length === 0) seenAt.delete(name);
      if (isEqual(taints, before)) return;
      for (const pod of pods.list()) if (pod.spec?.nodeName === name) queue.add(keyOf(pod));
    });
    pods.onChange((change) => {
      const { kind, object } = change;
      if (kind === "deleted") leaving.delete(keyOf(object));
      else if (
        seenAt.has(object.spec?.nodeName ?? "") &&
        (kind === "added" || isMoved(change.previous, object))
      ) {
        queue.add(keyOf(object));
      }
    });
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const pod = pods.get(key);
    const nodeName = pod?.spec?.nodeName;
    if (!pod || !nodeName) return undefined;
    const node: Node | undefined = nodes.get(nodeName);
    const now = clock.now();
    const taints = evictingTaints(node);
    const eviction = decideEviction(pod, { taints, seenAt: seenAt.get(nodeName) ?? now, now });
    switch (eviction.kind) {
      case "wait":
        leaving.add(key);
        return { againAfterMs: eviction.againAfterMs };
      case "stay":
        if (leaving.delete(key)) say(pod, `Cancelling deletion of Pod ${key}`);
        return undefined;
      case "evict":
        leaving.delete(key);
        return evict(pod, key);
    }
  }

  async function evict(pod: Pod, key: string): Promise<undefined> {
    const { namespace, name = "", uid } = pod.metadata;
    say(pod, `Marking for deletion Pod ${key}`);
    const condition = {
      type: "DisruptionTarget",
      status: "True",
      reason: "DeletionByTaintManager",
      message: "Taint manager: deleting due to NoExecute taint",
      lastTransitionTime: formatTime(clock.now()),
    };
    try {
      await writePodCondition(client, pod, { condition, signal });
      await client.delete("pods", { namespace, name }, { preconditions: { uid }, signal });
    } catch (error) {
      // Gone, or another one of that name by now.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  function say(pod: Pod, message: string): void {
    recorder.record(pod, { type: "Normal", reason: "TaintManagerEviction", message });
  }

  return runController(context, { name: "taint-eviction", watch, reconcile }, signal);
}

function isMoved(previous: Pod, pod: Pod): boolean {
  return (
    previous.spec?.nodeName !== pod.spec?.nodeName ||
    !isEqual(previous.spec?.tolerations, pod.spec?.tolerations)
  );
}

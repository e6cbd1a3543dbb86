import { isEqual } from "../../api/meta/is-equal.ts";
import { conditionOf } from "../../api/meta/object-facts.ts";
import type { Node, Pod } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { type Taint, toleratesTaint } from "../../api/pod/node-matcher.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import { writePodCondition } from "./write-pod-condition.ts";

/** Runs the taint eviction controller, which deletes pods that do not tolerate NoExecute taints, until the signal aborts. */
export function runTaintEvictionController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const recorder = context.recorder("taint-eviction-controller");
  const nodes = informers.of("nodes");
  const pods = informers.of("pods");
  /** Time at which NoExecute taints of a node were first observed. */
  const seenAt = new Map<string, number>();
  /** Keys of pods that will be evicted later. */
  const pendingEvictions = new Set<string>();

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
      if (kind === "deleted") pendingEvictions.delete(keyOf(object));
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
        pendingEvictions.add(key);
        return { requeueAfterMs: eviction.requeueAfterMs };
      case "stay":
        if (pendingEvictions.delete(key)) recordEvent(pod, `Cancelling deletion of Pod ${key}`);
        return undefined;
      case "evict":
        pendingEvictions.delete(key);
        return evict(pod, key);
    }
  }

  async function evict(pod: Pod, key: string): Promise<undefined> {
    const { namespace, name = "", uid } = pod.metadata;
    recordEvent(pod, `Marking for deletion Pod ${key}`);
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
      // Deleted, or replaced by another pod of that name.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }

  function recordEvent(pod: Pod, message: string): void {
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

type Eviction =
  | { readonly kind: "stay" }
  | { readonly kind: "wait"; readonly requeueAfterMs: number }
  | { readonly kind: "evict" };

function evictingTaints(node: Node | undefined): readonly Taint[] {
  return node?.spec?.taints?.filter(({ effect }) => effect === "NoExecute") ?? [];
}

interface Facts {
  readonly taints: readonly Taint[];
  /** Time at which a taint without timeAdded was first observed. */
  readonly seenAt: number;
  readonly now: number;
}

/** Decides whether and when a pod is evicted because of its node's taints. */
export function decideEviction(pod: Pod, { taints, seenAt, now }: Facts): Eviction {
  if (pod.metadata.deletionTimestamp) return { kind: "stay" };
  const boundAt = timeOf(conditionOf(pod, "PodScheduled")?.lastTransitionTime) ?? 0;
  let leaveAt = Number.POSITIVE_INFINITY;
  for (const taint of taints) {
    const toleration = pod.spec?.tolerations?.find((candidate) => toleratesTaint(candidate, taint));
    if (!toleration) return { kind: "evict" };
    const { tolerationSeconds } = toleration;
    if (tolerationSeconds === undefined) continue;
    if (tolerationSeconds <= 0) return { kind: "evict" };
    // timeAdded survives a restart of the controller.
    const since = Math.max(timeOf(taint.timeAdded) ?? seenAt, boundAt);
    leaveAt = Math.min(leaveAt, since + tolerationSeconds * 1_000);
  }
  if (leaveAt === Number.POSITIVE_INFINITY) return { kind: "stay" };
  return leaveAt <= now ? { kind: "evict" } : { kind: "wait", requeueAfterMs: leaveAt - now };
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? "");
  return Number.isNaN(time) ? undefined : time;
}

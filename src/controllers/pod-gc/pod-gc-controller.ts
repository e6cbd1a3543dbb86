import { isReady } from "../../api/meta/object-facts.ts";
import type { Node, Pod, PodCondition } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import { type ControllerContext, runController } from "../shared/run-controller.ts";

const intervalMs = 20_000;
const keepEnded = 12_500;

/** Runs the pod garbage collector until the signal aborts. */
export function runPodGcController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const logger = context.logger.component("pod-gc");
  const pods = informers.of("pods");
  const nodes = informers.of("nodes");
  let missingSince: ReadonlyMap<string, number> = new Map();

  async function collect(): Promise<{ readonly requeueAfterMs: number }> {
    const plan = decideGarbage({
      pods: pods.list(),
      node: nodes.get,
      missingSince,
      keepEnded,
      now: clock.now(),
    });
    missingSince = plan.missingSince;
    for (const { pod, why } of plan.deletions) await remove(pod, why);
    for (const [name, orphans] of plan.orphans) {
      if (!(await isGone(name))) continue;
      for (const pod of orphans) await remove(pod, "orphan");
    }
    return { requeueAfterMs: intervalMs };
  }

  /** The informer may be behind, and deleting pods is irreversible. */
  async function isGone(name: string): Promise<boolean> {
    try {
      await client.get("nodes", { name }, { signal });
      return false;
    } catch (error) {
      if (!isNotFound(error)) logger.warn("failed to get a node; its pods are kept", { node: name, error });
      return isNotFound(error);
    }
  }

  /** A failure does not affect other pods: the next pass tries again. */
  async function remove(pod: Pod, why: string): Promise<void> {
    const { namespace, name = "", uid } = pod.metadata;
    const status = failedStatus(pod, { orphan: why === "orphan", now: clock.now() });
    try {
      if (status) {
        const patch = { kind: "strategic", body: { metadata: { uid }, status } } as const;
        await client.patch("pods", { namespace, name }, { patch, subresource: "status", signal });
      }
      const preconditions = { uid };
      await client.delete("pods", { namespace, name }, { gracePeriodSeconds: 0, preconditions, signal });
      logger.info("deleted a pod", { pod: `${namespace}/${name}`, why });
    } catch (error) {
      if (isNotFound(error) || isConflict(error)) return;
      logger.warn("failed to delete a pod; retrying in the next pass", {
        pod: `${namespace}/${name}`,
        why,
        error,
      });
    }
  }

  // A single key: each pass examines all pods.
  const watch = (queue: { add(key: string): void }) => queue.add("all");
  return runController(context, { name: "pod-gc", concurrency: 1, watch, reconcile: collect }, signal);
}

interface Facts {
  readonly pods: Iterable<Pod>;
  node(name: string): Node | undefined;
  /** Time since when nodes that pods are bound to are missing. */
  readonly missingSince: ReadonlyMap<string, number>;
  /** Number of terminated pods to keep. 0 keeps all. */
  readonly keepEnded: number;
  readonly now: number;
}

interface Garbage {
  readonly pod: Pod;
  readonly why: "ended" | "unscheduled" | "outOfService";
}

interface GarbagePlan {
  readonly deletions: readonly Garbage[];
  /** Pods by missing node. Deleted once the API confirms that the node does not exist. */
  readonly orphans: ReadonlyMap<string, readonly Pod[]>;
  readonly missingSince: ReadonlyMap<string, number>;
}

/** Time that the informer may take to observe a new node. */
const quarantineMs = 40_000;

export function decideGarbage({ pods, node, missingSince, keepEnded, now }: Facts): GarbagePlan {
  const deletions: Garbage[] = [];
  const ended: Pod[] = [];
  const missing = new Map<string, Pod[]>();
  for (const pod of pods) {
    if (hasEnded(pod)) ended.push(pod);
    const nodeName = pod.spec?.nodeName;
    if (!nodeName) {
      if (pod.metadata.deletionTimestamp) deletions.push({ pod, why: "unscheduled" });
      continue;
    }
    const at = node(nodeName);
    if (!at) missing.set(nodeName, [...(missing.get(nodeName) ?? []), pod]);
    else if (pod.metadata.deletionTimestamp && isOutOfService(at)) {
      deletions.push({ pod, why: "outOfService" });
    }
  }
  const since = new Map([...missing.keys()].map((name) => [name, missingSince.get(name) ?? now]));
  const orphans = [...missing].filter(([name]) => now - (since.get(name) ?? now) >= quarantineMs);
  return {
    deletions: [...terminatedBeyond(ended, keepEnded), ...deletions],
    orphans: new Map(orphans),
    missingSince: since,
  };
}

function isOutOfService(node: Node): boolean {
  const tainted = node.spec?.taints?.some(({ key }) => key === "node.kubernetes.io/out-of-service");
  return !isReady(node) && tainted === true;
}

/** Evicted pods first, then the oldest. */
function terminatedBeyond(ended: Pod[], keep: number): readonly Garbage[] {
  if (keep <= 0 || ended.length <= keep) return [];
  const evicted = ({ status }: Pod) => status?.phase === "Failed" && status.reason === "Evicted";
  const age = ({ metadata }: Pod) => `${metadata.creationTimestamp} ${metadata.name}`;
  return ended
    .sort((a, b) => Number(evicted(b)) - Number(evicted(a)) || (age(a) < age(b) ? -1 : 1))
    .slice(0, ended.length - keep)
    .map((pod) => ({ pod, why: "ended" }));
}

/** Status of a pod that is deleted before it terminated. Undefined if it has terminated. */
export function failedStatus(pod: Pod, { orphan, now }: { readonly orphan: boolean; readonly now: number }) {
  if (hasEnded(pod)) return undefined;
  const condition: PodCondition = {
    type: "DisruptionTarget",
    status: "True",
    reason: "DeletionByPodGC",
    message: "PodGC: node no longer exists",
    lastTransitionTime: formatTime(now),
  };
  return { phase: "Failed", ...(orphan && { conditions: [condition] }) };
}

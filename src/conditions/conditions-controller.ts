// Clauses: 3815-10
import { conditionOf } from "../api/meta/object-facts.ts";
import type { Pod, PodCondition } from "../api/meta/objects.ts";
import { StatusError } from "../api/meta/status-error.ts";
import type { Client } from "../client/api/client.ts";
import { createInformer } from "../client/informers/informer.ts";
import { keyOf } from "../client/informers/object-cache.ts";
import { createWorkQueue } from "../client/queue/work-queue.ts";
import { failingToStartType } from "../explain/failing-to-start.ts";
import { currentFailingToStart } from "../explain/pod-health.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { countByLabels, type Metrics } from "../lib/metrics/metrics.ts";
import { type ConditionRecord, decideCondition, isOwn } from "./decide-condition.ts";

/** Name of the lease and of the user agent. */
export const component = "kindling-conditions";

interface ConditionsControllerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Registry for the controller's metrics. Defaults to none. */
  readonly metrics?: Metrics;
}

interface Change {
  readonly pod: Pod;
  readonly condition: PodCondition;
  /** Record to keep once the condition is written. */
  readonly record: ConditionRecord;
}

/** Writes in flight. A slow API server gets fewer writes a second, and never more of them at a time. */
const concurrency = 4;
/** Requeue delay of a pod that changed during the write. The watch usually requeues it before. */
const conflictDelayMs = 1_000;

const patches = {
  name: "kindling_conditions_patches_total",
  help: "Writes of the condition FailingToStart, by outcome",
};
const failingPods = {
  name: "kindling_pods_failing_to_start",
  help: "Pods whose condition FailingToStart is True, of any writer",
};
const writers = {
  name: "kindling_conditions_pods",
  help: "Pods with the condition FailingToStart, by its writer",
};

/**
 * Writes the condition FailingToStart to pods whose kubelet does not, until the signal aborts. Each write names the version
 * of the pod that it is based on, so that it never overwrites a status that this controller has not seen.
 */
export async function runConditionsController(
  { client, clock, logger, metrics }: ConditionsControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const pods = createInformer({ client, clock, logger, resource: "pods", trim });
  const records = new Map<string, ConditionRecord>();
  const queue = createWorkQueue({
    clock,
    onFailure: (key, error) => logger.warn("writing FailingToStart failed; requeued", { pod: key, error }),
  });
  pods.onChange(({ kind, object }) => {
    const key = keyOf(object);
    if (kind === "deleted") records.delete(key);
    else queue.add(key);
  });
  const unregister = [
    metrics?.gauge(failingPods, () => countByLabels(pods.list(), failingLabels)),
    metrics?.gauge(writers, () => countByLabels(pods.list(), writerLabels)),
  ];
  let lastWriteMs: number | undefined;

  /** Decides about the pod as the cache has it now, and keeps the record. */
  function decide(key: string): Change | undefined {
    const pod = pods.get(key);
    if (!pod) return undefined;
    const before = records.get(key);
    const { record, write } = decideCondition({ pod, record: before, now: clock.now() });
    if (record) records.set(key, record);
    else records.delete(key);
    if (record?.kind === "yielded" && before?.kind === "written")
      logger.info("another writer changed FailingToStart; the pod is left to it", { pod: key });
    return write && { ...write, pod };
  }

  async function reconcile(key: string): Promise<void> {
    // The pod may change while its write waits for its turn.
    for (let change = decide(key); change; change = decide(key)) {
      const waitMs = writeWaitMs(lastWriteMs, clock.now());
      if (waitMs === 0) {
        lastWriteMs = clock.now();
        return carryOut(key, change);
      }
      await clock.sleep(waitMs, signal);
    }
  }

  async function carryOut(key: string, { pod, condition, record }: Change): Promise<void> {
    const outcome = await write(client, { pod, condition }, signal).catch((error: unknown) => {
      // The write may have been applied. The next version of the pod shows it.
      records.delete(key);
      metrics?.counter(patches, { outcome: "failed" }).add();
      throw error;
    });
    metrics?.counter(patches, { outcome }).add();
    if (outcome === "changed") queue.addAfter(key, conflictDelayMs);
    // The pod may have been deleted during the write.
    else if (pods.get(key)) records.set(key, record);
    logger.debug("FailingToStart", { pod: key, outcome, status: condition.status, reason: condition.reason });
  }

  try {
    const running = pods.run(signal);
    await pods.synced;
    await queue.run(signal, concurrency, reconcile);
    await running;
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    for (const remove of unregister) remove?.();
  }
}

type WriteOutcome = "written" | "changed";

async function write(
  client: Client,
  { pod, condition }: { readonly pod: Pod; readonly condition: PodCondition },
  signal: AbortSignal,
): Promise<WriteOutcome> {
  const { name = "", namespace, uid, resourceVersion } = pod.metadata;
  const { reason = null, message = null } = condition;
  const body = {
    metadata: { uid, resourceVersion },
    status: { conditions: [{ ...condition, reason, message }] },
  };
  try {
    await client.patch(
      "pods",
      { namespace, name },
      { subresource: "status", patch: { kind: "strategic", body }, signal },
    );
    return "written";
  } catch (error) {
    if (error instanceof StatusError && (error.reason === "Conflict" || error.reason === "NotFound"))
      return "changed";
    throw error;
  }
}

/** Keeps what the decision needs, which is a small part of a pod. */
function trim({ apiVersion, kind, metadata, status = {} }: Pod): Pod {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = metadata;
  const { phase, conditions, observedGeneration, initContainerStatuses, containerStatuses } = status;
  return {
    apiVersion,
    kind,
    metadata: { name, namespace, uid, resourceVersion, deletionTimestamp },
    status: {
      phase,
      observedGeneration,
      conditions: conditions?.filter(({ type }) => type === failingToStartType),
      initContainerStatuses,
      containerStatuses,
    },
  };
}

function failingLabels(pod: Pod): Record<string, string> | undefined {
  const { reason = "" } = currentFailingToStart(pod) ?? {};
  return reason ? { namespace: pod.metadata.namespace ?? "", reason } : undefined;
}

function writerLabels(pod: Pod): Record<string, string> | undefined {
  const condition = conditionOf(pod, failingToStartType);
  return condition && { writer: isOwn(condition) ? component : "other" };
}

/** Time between two writes of the controller: 50 writes a second. */
const writeIntervalMs = 20;

/**
 * Time until the next write is allowed; 0 if it is allowed now. Writes do not add up while none is needed, so that no
 * second has more than 50.
 */
export function writeWaitMs(lastWriteMs: number | undefined, now: number): number {
  // Writes must not stop when the clock was set back.
  if (lastWriteMs === undefined || now < lastWriteMs) return 0;
  return Math.max(0, lastWriteMs + writeIntervalMs - now);
}

// Clauses: 3541-13
import { controllerOf } from "../api/meta/object-facts.ts";
import type { Pod, StatefulSet } from "../api/meta/objects.ts";
import type { Client } from "../client/api/client.ts";
import type { EventRecorder } from "../client/events/event-recorder.ts";
import { createInformer } from "../client/informers/informer.ts";
import { createWorkQueue } from "../client/queue/work-queue.ts";
import type { UnstickPolicy } from "../explain/rollout-policy.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { countByLabels, type Metrics } from "../lib/metrics/metrics.ts";
import { decideRecovery, policyOf, type Recovery } from "./decide-recovery.ts";
import { evictPod } from "./evict-pod.ts";
import { pruneRecord } from "./eviction-record.ts";

interface RecoverControllerOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly recorder: EventRecorder;
  /** Registry for the controller's metrics. Defaults to none. */
  readonly metrics?: Metrics;
  /** Policy of sets without annotation in namespaces without label. Defaults to none: nothing is evicted there. */
  readonly policy?: UnstickPolicy;
  /** Time that the set's own controller has to delete the pod. Defaults to 30 seconds. */
  readonly graceMs?: number;
}

export const defaultGraceMs = 30_000;
/** Requeue delay of a set that is stuck and stays so without an event. */
const recheckMs = 10_000;
const concurrency = 4;
/** Interval at which evictions that are no longer needed are removed from the record. */
const pruneIntervalMs = 600_000;

const recoveries = { name: "kindling_recoveries_total", help: "Attempts to recover a stuck StatefulSet" };
const stuckSets = {
  name: "kindling_statefulsets_stuck",
  help: "StatefulSets that a broken pod of an older revision blocks",
};

/** A set that is stuck on one pod. */
interface StuckSet {
  readonly podUid: string | undefined;
  readonly sinceMs: number;
  readonly namespace: string;
  readonly policy: string;
  /** Event that was recorded last, so that it is recorded once. */
  readonly reported?: string;
}

/** Recovers stuck StatefulSets of the whole cluster until the signal aborts. */
export async function runRecoverController(
  {
    client,
    clock,
    logger,
    recorder,
    metrics,
    policy: fallback,
    graceMs = defaultGraceMs,
  }: RecoverControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const sets = createInformer({ client, clock, logger, resource: "statefulsets" });
  const namespaces = createInformer({ client, clock, logger, resource: "namespaces" });
  const pods = createInformer({
    client,
    clock,
    logger,
    resource: "pods",
    indexes: { controller: (pod) => [controllerOf(pod)?.uid ?? ""] },
  });
  const stuck = new Map<string, StuckSet>();
  const queue = createWorkQueue({
    clock,
    onFailure: (key, error) => logger.warn("recovering a StatefulSet failed; requeued", { key, error }),
  });
  const addSet = (namespace: string | undefined, name: string | undefined) =>
    queue.add(`${namespace}/${name}`);
  const addOwner = (pod: Pod) => {
    const owner = controllerOf(pod);
    if (owner?.kind === "StatefulSet") addSet(pod.metadata.namespace, owner.name);
  };
  sets.onChange(({ object: { metadata } }) => addSet(metadata.namespace, metadata.name));
  pods.onChange(({ object }) => addOwner(object));
  namespaces.onChange(({ object: { metadata } }) => {
    for (const set of sets.list())
      if (set.metadata.namespace === metadata.name) addSet(metadata.name, set.metadata.name);
  });
  const unregister = metrics?.gauge(stuckSets, () =>
    countByLabels(stuck.values(), ({ namespace, policy }) => ({ namespace, policy })),
  );

  async function reconcile(key: string): Promise<number | undefined> {
    const set = sets.get(key);
    if (!set) {
      stuck.delete(key);
      return undefined;
    }
    const { namespace = "" } = set.metadata;
    const { policy, invalid } = policyOf(set, namespaces.get(namespace), fallback);
    const owned = pods.byIndex("controller", set.metadata.uid ?? "");
    const now = clock.now();
    const decision = decideRecovery({ set, pods: owned, policy, now });
    if (decision.kind === "none") {
      stuck.delete(key);
      // A pod that uses up its time to start does not change when it does.
      return decision.isSettled ? undefined : recheckMs;
    }
    const podUid = decision.pod.metadata.uid;
    const known = stuck.get(key);
    const before = known?.podUid === podUid ? known : undefined;
    const state = { podUid, sinceMs: before?.sinceMs ?? now, namespace, policy: policy ?? "none" };
    const report = reportOf(decision, invalid);
    stuck.set(key, { ...state, reported: report?.message ?? before?.reported });
    const waitMs = state.sinceMs + graceMs - now;
    if (waitMs > 0) return waitMs;
    if (report && before?.reported !== report.message) recorder.record(set, report);
    if (decision.kind === "stuck") return undefined;
    return evict({ set, decision });
  }

  async function evict({
    set,
    decision,
  }: {
    readonly set: StatefulSet;
    readonly decision: Extract<Recovery, { kind: "evict" }>;
  }): Promise<number | undefined> {
    const { pod, reason, because } = decision;
    const outcome = await evictPod(client, { set, pod, reason, because, now: clock.now() }, signal);
    metrics?.counter(recoveries, { outcome: outcome.kind, reason }).add();
    const about = { set: set.metadata.name, namespace: set.metadata.namespace, pod: pod.metadata.name };
    logger.info("recovery", { ...about, outcome: outcome.kind, reason, because });
    switch (outcome.kind) {
      case "evicted":
        recorder.record(set, {
          type: "Normal",
          reason: "PodEvictedToRecover",
          message: `Evicted ${describe(pod, because)}`,
        });
        return recheckMs;
      case "blocked":
        recorder.record(set, {
          type: "Warning",
          reason: "RecoveryBlocked",
          message: `Pod ${pod.metadata.name} cannot be evicted now: ${outcome.message}`,
        });
        return recheckMs;
      case "repeated":
        recorder.record(set, {
          type: "Warning",
          reason: "RecoveryRepeated",
          message: `Pod ${pod.metadata.name} was evicted before and came back in an older revision; it is not evicted again`,
        });
        return undefined;
      case "changed":
        return 1_000;
    }
  }

  async function pruneRegularly(): Promise<void> {
    while (!signal.aborted) {
      try {
        await pruneRecord(client, (key) => sets.get(key), signal);
      } catch (error) {
        if (!signal.aborted) logger.warn("pruning the record of evictions failed", { error });
      }
      await clock.sleep(pruneIntervalMs, signal);
    }
  }

  try {
    const running = [sets.run(signal), pods.run(signal), namespaces.run(signal)];
    await Promise.all([sets.synced, pods.synced, namespaces.synced]);
    running.push(pruneRegularly());
    await queue.run(signal, concurrency, async (key) => {
      const requeueAfterMs = await reconcile(key);
      if (requeueAfterMs !== undefined) queue.addAfter(key, requeueAfterMs);
    });
    await Promise.all(running);
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    unregister?.();
  }
}

/** Event about a stuck set that is left alone. Sets without a policy get none: their owners did not ask for it. */
function reportOf(decision: Recovery, invalid: string | undefined) {
  if (invalid) return { type: "Warning", reason: "InvalidUnstickPolicy", message: invalid } as const;
  if (decision.kind !== "stuck" || decision.reason === "NoPolicy") return undefined;
  return {
    type: "Warning",
    reason: decision.reason,
    message: `${decision.because}; ${decision.advice}`,
  } as const;
}

function describe({ metadata }: Pod, because: string): string {
  return `pod ${metadata.name} so that it is created from the update revision: ${because}`;
}

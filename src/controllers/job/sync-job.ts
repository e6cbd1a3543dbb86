import { controllerOf, newerCopy } from "../../api/meta/object-facts.ts";
import type { Job, Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { Change, Informer } from "../../client/informers/informer.ts";
import { createExpectations } from "../../client/queue/expectations.ts";
import { isNotFound } from "../../client/transport/status-errors.ts";
import type { Clock } from "../../lib/clock.ts";
import { orphanedIn } from "../shared/informers.ts";
import { claimObjects, decideClaim, selects } from "../shared/ownership.ts";
import type { Reconciled } from "../shared/run-controller.ts";
import { actOnPods, removeFinalizer } from "./act-on-pods.ts";
import { decideJob, type JobPlan } from "./decide-job.ts";
import { settleStatus, type Tracking, trackPods } from "./decide-status.ts";
import {
  hasTrackingFinalizer,
  isFinished,
  isManagedElsewhere,
  type JobCondition,
  type JobStatus,
  trackingFinalizer,
} from "./job-facts.ts";
import type { JobMetrics } from "./job-metrics.ts";
import { isTracked, type ObservedJob, observeJob } from "./observe-job.ts";
import { type BackOffRecord, noFailures, recordFinished } from "./pod-back-off.ts";

interface SyncDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly recorder: EventRecorder;
  readonly jobs: Pick<Informer<Job>, "get">;
  readonly pods: Pick<Informer<Pod>, "byIndex">;
  /** Default: none. */
  readonly metrics?: JobMetrics;
}

/** Syncs Jobs. Remembers what it has written and the informers have not delivered yet. */
export interface JobSyncer {
  sync(key: string): Promise<Reconciled>;
  /** Records a change of a pod of the Job with this key. */
  podChanged(key: string, change: Change<Pod>): void;
  jobDeleted(key: string): void;
}

/** Memory about one Job. */
interface Memory {
  readonly uid: string;
  /** Version that was written or observed last. */
  job: Job;
  backOff: BackOffRecord;
  /** Pods whose finalizer was removed, until the informer has delivered it. */
  readonly released: Set<string>;
}

export function createJobSyncer(deps: SyncDeps, signal: AbortSignal): JobSyncer {
  const { client, clock, recorder, jobs, pods, metrics } = deps;
  const expectations = createExpectations({ clock });
  const memories = new Map<string, Memory>();

  function memoryOf(key: string, job: Job): Memory {
    const { uid = "" } = job.metadata;
    const known = memories.get(key);
    if (known?.uid === uid) {
      known.job = newerCopy(job, known.job);
      return known;
    }
    const memory = { uid, job, backOff: noFailures, released: new Set<string>() };
    memories.set(key, memory);
    return memory;
  }

  function forget(key: string): void {
    memories.delete(key);
    expectations.forget(key);
  }

  async function sync(key: string): Promise<Reconciled> {
    const cached = jobs.get(key);
    if (!cached || isManagedElsewhere(cached)) {
      forget(key);
      return undefined;
    }
    const memory = memoryOf(key, cached);
    if (isFinished(memory.job)) {
      // The cached Job may be older than this status, so the memory is kept until it is not.
      if (isFinished(cached)) forget(key);
      return undefined;
    }
    const startedAt = clock.now();
    let plan: JobPlan | undefined;
    let isSuccess = false;
    try {
      const isCacheCurrent = expectations.satisfied(key);
      const observed = observeJob({
        job: memory.job,
        pods: await ownPods(memory.job),
        released: memory.released,
        now: startedAt,
      });
      const backOff = recordFinished(memory.backOff, {
        succeeded: observed.newlySucceeded,
        failed: observed.newlyFailed,
      });
      plan = decideJob(observed, { isCacheCurrent, backOff });
      await carryOut(memory, { observed, plan, backOff });
      isSuccess = true;
    } finally {
      const seconds = (clock.now() - startedAt) / 1_000;
      metrics?.synced(memory.job, { plan: plan?.pods.kind ?? "terminate", isSuccess, seconds });
    }
    return requeueAfter(plan);
  }

  async function carryOut(
    memory: Memory,
    decided: { readonly observed: ObservedJob; readonly plan: JobPlan; readonly backOff: BackOffRecord },
  ): Promise<void> {
    const { observed, plan, backOff } = decided;
    const acted = await actOnPods({ client, recorder, expectations }, { observed, plan: plan.pods }, signal);
    metrics?.created(observed, acted);
    const tracking = trackPods(observed, plan, acted);
    if (tracking.status) {
      await writeStatus(memory, tracking.status);
      memory.backOff = backOff;
      for (const event of tracking.events) recorder.record(memory.job, event);
    }
    metrics?.handledByPolicy(tracking.policyActions);
    await release(memory, observed, tracking);
    if (acted.failure !== undefined) throw acted.failure;
  }

  /** Removes finalizers, then counts the pods that have lost theirs and ends the Job if all are counted. */
  async function release(memory: Memory, observed: ObservedJob, tracking: Tracking): Promise<void> {
    const { released } = memory;
    const tracked = new Set(
      observed.pods.filter((pod) => isTracked(pod, released)).map(({ metadata }) => metadata.uid ?? ""),
    );
    const results = await Promise.allSettled(
      tracking.release.map(async (pod) => {
        const { uid = "" } = pod.metadata;
        released.add(uid);
        try {
          await removeFinalizer(client, pod, signal);
        } catch (error) {
          released.delete(uid);
          if (!isNotFound(error)) throw error;
        }
        tracked.delete(uid);
      }),
    );
    const failed = results.find((result) => result.status === "rejected");
    const terminal = failed ? undefined : tracking.terminal;
    const settled = settleStatus(memory.job, { terminal }, { tracked });
    if (settled.status) await writeStatus(memory, settled.status);
    if (settled.finished) finish(memory.job, settled.finished);
    if (failed) throw failed.reason;
  }

  function finish(job: Job, condition: JobCondition): void {
    const { reason = "", message = "" } = condition;
    metrics?.finished(job, condition);
    if (condition.type !== "Complete") {
      recorder.record(job, { type: "Warning", reason, message });
      return;
    }
    if (job.spec?.completions !== undefined && (job.status?.succeeded ?? 0) > job.spec.completions) {
      const excess = "Too many succeeded pods running after completion count reached";
      recorder.record(job, { type: "Warning", reason: "TooManySucceededPods", message: excess });
    }
    recorder.record(job, { type: "Normal", reason: "Completed", message: "Job completed" });
  }

  async function writeStatus(memory: Memory, status: JobStatus): Promise<void> {
    const before = memory.job.status ?? {};
    memory.job = await client.update("jobs", { ...memory.job, status }, { subresource: "status", signal });
    metrics?.counted(memory.job, before);
  }

  async function ownPods(job: Job): Promise<readonly Pod[]> {
    const { namespace = "", uid = "" } = job.metadata;
    const candidates = [
      ...pods.byIndex("controller", uid),
      ...pods.byIndex("controller", orphanedIn(namespace)),
    ];
    const claim = decideClaim(job, candidates, (pod) => selects(job, pod));
    return claimObjects({
      client,
      resource: "pods",
      ownerResource: "jobs",
      owner: job,
      claim,
      finalizer: trackingFinalizer,
      signal,
    });
  }

  return {
    sync,
    podChanged(key, { kind, object }) {
      const { uid = "" } = object.metadata;
      if (kind === "added" && controllerOf(object)) expectations.creationObserved(key);
      if (kind === "deleted" || object.metadata.deletionTimestamp) expectations.deletionObserved(key, uid);
      if (kind === "deleted" || !hasTrackingFinalizer(object)) memories.get(key)?.released.delete(uid);
    },
    jobDeleted: forget,
  };
}

function requeueAfter({ pods, deadlineInMs }: JobPlan): Reconciled {
  const backOffMs = pods.kind === "backOff" ? pods.requeueAfterMs : Number.POSITIVE_INFINITY;
  const requeueAfterMs = Math.min(backOffMs, deadlineInMs ?? Number.POSITIVE_INFINITY);
  return Number.isFinite(requeueAfterMs) ? { requeueAfterMs } : undefined;
}

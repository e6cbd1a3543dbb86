import type { Job, Pod } from "../../api/meta/objects.ts";
import { hasEnded } from "../../api/pod/pod-state.ts";
import type { Change } from "../../client/informers/informer.ts";
import { exponentialBuckets, type Metrics } from "../../lib/metrics/metrics.ts";
import type { ActedOnPods } from "./act-on-pods.ts";
import type { PodsPlan } from "./decide-job.ts";
import { parseIndexSet } from "./index-set.ts";
import { hasTrackingFinalizer, isIndexed, type JobCondition, type JobStatus, specOf } from "./job-facts.ts";
import type { ObservedJob } from "./observe-job.ts";

const metric = (name: string, help: string) => ({ name: `job_controller_${name}`, help });
const syncDuration = {
  ...metric("job_sync_duration_seconds", "Seconds that a sync of a Job takes"),
  buckets: exponentialBuckets(0.004, 2, 15),
};
const syncs = metric("job_syncs_total", "Total number of syncs of Jobs");
const finishedJobs = metric("jobs_finished_total", "Total number of finished Jobs");
const external = metric(
  "jobs_by_external_controller_total",
  "Total number of Jobs that another controller manages",
);
const finishedPods = metric(
  "job_pods_finished_total",
  "Total number of finished pods that the status counts",
);
const policyActions = metric(
  "pod_failures_handled_by_failure_policy_total",
  "Total number of failed pods by the action of the pod failure policy",
);
const trackedPods = metric(
  "terminated_pods_tracking_finalizer_total",
  "Total number of terminated pods that had the tracking finalizer (add) and lost it (delete)",
);
const finishedIndexes = metric("job_finished_indexes_total", "Total number of finished indexes");
const createdPods = metric("job_pods_creation_total", "Total number of pods created, by the reason for it");

/** Upstream's metrics of the Job controller. */
export interface JobMetrics {
  synced(job: Job, sync: { plan: PodsPlan["kind"]; isSuccess: boolean; seconds: number }): void;
  added(job: Job): void;
  /** Records pods and indexes that a status counts and the previous one did not. */
  counted(job: Job, before: JobStatus): void;
  handledByPolicy(actions: Readonly<Record<string, number>>): void;
  created(observed: ObservedJob, result: ActedOnPods): void;
  finished(job: Job, condition: JobCondition): void;
  podChanged(change: Change<Pod>): void;
}

const actions: Readonly<Record<PodsPlan["kind"], string>> = {
  keep: "tracking",
  terminate: "reconciling",
  delete: "pods_deleted",
  create: "pods_created",
  backOff: "pods_created",
};

export function createJobMetrics(metrics: Metrics): JobMetrics {
  const modeOf = (job: Job) => (isIndexed(job) ? "Indexed" : "NonIndexed");

  return {
    synced(job, { plan, isSuccess, seconds }) {
      const result = isSuccess ? "success" : "error";
      const labels = { completion_mode: modeOf(job), result, action: actions[plan] };
      metrics.histogram(syncDuration, labels).observe(seconds);
      metrics.counter(syncs, labels).add();
    },
    added({ spec }) {
      const name = spec?.managedBy;
      if (name && name !== "kubernetes.io/job-controller")
        metrics.counter(external, { controller_name: name }).add();
    },
    counted(job, before) {
      const { completions = 0, backoffLimitPerIndex } = specOf(job);
      const after = job.status ?? {};
      const sizeOf = (text: string | undefined) => parseIndexSet(text, completions).size;
      let succeeded = (after.succeeded ?? 0) - (before.succeeded ?? 0);
      if (isIndexed(job)) {
        succeeded = sizeOf(after.completedIndexes) - sizeOf(before.completedIndexes);
        const backoffLimit = backoffLimitPerIndex === undefined ? "global" : "perIndex";
        const add = (status: string, by: number) => {
          if (by > 0) metrics.counter(finishedIndexes, { status, backoffLimit }).add(by);
        };
        add("succeeded", succeeded);
        add("failed", sizeOf(after.failedIndexes) - sizeOf(before.failedIndexes));
      }
      const add = (result: string, by: number) => {
        if (by > 0) metrics.counter(finishedPods, { completion_mode: modeOf(job), result }).add(by);
      };
      add("succeeded", succeeded);
      add("failed", (after.failed ?? 0) - (before.failed ?? 0));
    },
    handledByPolicy(counts) {
      for (const [action, count] of Object.entries(counts))
        metrics.counter(policyActions, { action }).add(count);
    },
    created({ job, failed, terminating }, { created, failedCreations }) {
      const reason = creationReason(job, { failed, terminating: terminating.length });
      if (created > 0) metrics.counter(createdPods, { reason, status: "succeeded" }).add(created);
      if (failedCreations > 0)
        metrics.counter(createdPods, { reason, status: "failed" }).add(failedCreations);
    },
    finished(job, { type, reason = "" }) {
      const result = type === "Complete" ? "succeeded" : "failed";
      metrics.counter(finishedJobs, { completion_mode: modeOf(job), result, reason }).add();
    },
    podChanged(change) {
      const wasTracked = change.kind === "changed" && isFinishedAndTracked(change.previous);
      const isTracked = change.kind !== "deleted" && isFinishedAndTracked(change.object);
      if (wasTracked !== isTracked)
        metrics.counter(trackedPods, { event: isTracked ? "add" : "delete" }).add();
    },
  };
}

function isFinishedAndTracked(pod: Pod): boolean {
  return hasEnded(pod) && hasTrackingFinalizer(pod);
}

function creationReason(
  { spec }: Job,
  { failed, terminating }: { readonly failed: number; readonly terminating: number },
): string {
  if (spec?.podReplacementPolicy === "Failed" && failed > 0) return "recreate_failed";
  return failed > 0 || terminating > 0 ? "recreate_terminating_or_failed" : "new";
}

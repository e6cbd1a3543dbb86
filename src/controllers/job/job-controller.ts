import { controllerOf } from "../../api/meta/object-facts.ts";
import type { Job, Pod } from "../../api/meta/objects.ts";
import type { Change } from "../../client/informers/informer.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isNotFound } from "../../client/transport/status-errors.ts";
import { ownerOf, selects } from "../shared/ownership.ts";
import {
  type ControllerContext,
  type ControllerOptions,
  type Reconciled,
  runController,
} from "../shared/run-controller.ts";
import { removeFinalizer } from "./act-on-pods.ts";
import { hasTrackingFinalizer, isFinished, isManagedElsewhere } from "./job-facts.ts";
import { createJobMetrics } from "./job-metrics.ts";
import { createJobSyncer } from "./sync-job.ts";

/** Runs the Job controller until the signal aborts. */
export async function runJobController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const options = { name: "job", concurrency: 10, ...jobController(context, signal) };
  await Promise.all([runController(context, options, signal), runOrphanedPods(context, signal)]);
}

/** The parts of the controller that a test drives without its queue. */
export function jobController(
  context: Pick<ControllerContext, "client" | "clock" | "informers" | "metrics" | "recorder">,
  signal: AbortSignal,
): Pick<ControllerOptions, "watch" | "reconcile"> {
  const { client, clock, informers } = context;
  const jobs = informers.of("jobs");
  const pods = informers.of("pods");
  const metrics = context.metrics && createJobMetrics(context.metrics);
  const recorder = context.recorder("job-controller");
  const syncer = createJobSyncer(
    { client, clock, recorder, jobs, pods, ...(metrics && { metrics }) },
    signal,
  );

  function jobsOf(pod: Pod): readonly Job[] {
    if (controllerOf(pod)) {
      const owner = ownerOf(pod, "Job", jobs);
      return owner ? [owner] : [];
    }
    return jobs.byIndex("namespace", pod.metadata.namespace ?? "").filter((job) => selects(job, pod));
  }

  function watch(queue: Pick<WorkQueue, "add">): void {
    jobs.onChange(({ kind, object }) => {
      if (kind === "added") metrics?.added(object);
      if (kind === "deleted") syncer.jobDeleted(keyOf(object));
      queue.add(keyOf(object));
    });
    pods.onChange((change) => {
      metrics?.podChanged(change);
      for (const pod of affectedPods(change)) {
        for (const job of jobsOf(pod)) {
          syncer.podChanged(keyOf(job), change);
          queue.add(keyOf(job));
        }
      }
    });
  }

  return { watch, reconcile: syncer.sync };
}

/** A changed owner affects the previous owner too. */
function affectedPods(change: Change<Pod>): readonly Pod[] {
  if (change.kind !== "changed") return [change.object];
  const ownerChanged = controllerOf(change.previous)?.uid !== controllerOf(change.object)?.uid;
  return ownerChanged ? [change.previous, change.object] : [change.object];
}

/** Removes the tracking finalizer from pods whose Job is gone or finished, so that they can be deleted. */
function runOrphanedPods(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, informers } = context;
  const jobs = informers.of("jobs");
  const pods = informers.of("pods");

  function isOrphaned(pod: Pod): boolean {
    if (!hasTrackingFinalizer(pod)) return false;
    const controller = controllerOf(pod);
    if (!controller) return true;
    if (controller.kind !== "Job" || controller.apiVersion !== "batch/v1") return false;
    const job = ownerOf(pod, "Job", jobs);
    return !job || (!isManagedElsewhere(job) && isFinished(job));
  }

  function watch(queue: Pick<WorkQueue, "add">): void {
    pods.onChange(({ kind, object }) => {
      if (kind !== "deleted" && hasTrackingFinalizer(object)) queue.add(keyOf(object));
    });
    jobs.onChange(({ kind, object }) => {
      if (kind !== "deleted" && !isFinished(object)) return;
      for (const pod of pods.byIndex("controller", object.metadata.uid ?? "")) {
        if (hasTrackingFinalizer(pod)) queue.add(keyOf(pod));
      }
    });
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const pod = pods.get(key);
    if (!pod || !isOrphaned(pod)) return undefined;
    try {
      await removeFinalizer(client, pod, signal);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  }

  return runController(context, { name: "job_orphan_pod", watch, reconcile }, signal);
}

import { isEqual } from "../../api/meta/is-equal.ts";
import { controllerOf, newerCopy } from "../../api/meta/object-facts.ts";
import type { CronJob, Job } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isAlreadyExists, isNamespaceTerminating, isNotFound } from "../../client/transport/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { exponentialBuckets } from "../../lib/metrics/metrics.ts";
import { ownerOf } from "../shared/ownership.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import { nextScheduleInMs, scheduleOf } from "./cron-job-schedule.ts";
import { type CronJobStatus, decideStart, reviewJobs, type StartPlan } from "./decide-cron-job.ts";

const creationSkew = {
  name: "cronjob_controller_job_creation_skew_duration_seconds",
  help: "Seconds between the time of a schedule and the creation of its Job",
  buckets: exponentialBuckets(1, 2, 10),
};

type ActiveJob = NonNullable<CronJobStatus["active"]>[number];

/** Runs the CronJob controller until the signal aborts. */
export function runCronJobController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const cronJobs = informers.of("cronjobs");
  const jobs = informers.of("jobs");
  const recorder = context.recorder("cronjob-controller");
  const skew = context.metrics?.histogram(creationSkew);
  /** Last known version of each CronJob, because the cache may lack the last write. */
  const memory = new Map<string, CronJob>();

  function watch(queue: Pick<WorkQueue, "add">): void {
    cronJobs.onChange(({ kind, object }) => {
      if (kind === "deleted") memory.delete(keyOf(object));
      queue.add(keyOf(object));
    });
    jobs.onChange((change) => {
      for (const job of change.kind === "changed" ? [change.previous, change.object] : [change.object]) {
        const owner = ownerOf(job, "CronJob", cronJobs);
        if (owner) queue.add(keyOf(owner));
      }
    });
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const cached = cronJobs.get(key);
    if (!cached) return undefined;
    const known = memory.get(key);
    const cronJob = newerCopy(cached, known);
    memory.set(key, cronJob);
    // A new schedule starts with its next time: times that it would have had before are not made up for.
    if (known && known.metadata.uid === cronJob.metadata.uid && isScheduleChanged(known, cronJob)) {
      const requeueAfterMs = nextTimeInMs(cronJob);
      return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
    }
    const own = jobs.byIndex("controller", cronJob.metadata.uid ?? "");
    const review = reviewJobs(cronJob, own);
    for (const event of review.events) recorder.record(cronJob, event);
    let { status } = review;
    try {
      for (const job of review.expired) {
        if (await deleteJob(cronJob, job)) status = withoutActive(status, job.metadata.uid);
      }
      for (const reference of review.unseen) {
        if (await exists(reference)) continue;
        const message = `Active job went missing: ${reference.name}`;
        recorder.record(cronJob, { type: "Normal", reason: "MissingJob", message });
        status = withoutActive(status, reference.uid);
      }
      const plan = decideStart({ ...cronJob, status }, clock.now());
      if (plan.event) recorder.record(cronJob, plan.event);
      if (plan.kind === "wait")
        return plan.requeueAfterMs === undefined ? undefined : { requeueAfterMs: plan.requeueAfterMs };
      status = await start(cronJob, status, plan);
    } finally {
      await writeStatus(key, cronJob, status);
    }
    const requeueAfterMs = nextTimeInMs({ ...cronJob, status });
    return requeueAfterMs === undefined ? undefined : { requeueAfterMs };
  }

  /** Creates the Job of a plan. Returns the status with it. */
  async function start(
    cronJob: CronJob,
    before: CronJobStatus,
    { job, at, replaced }: Extract<StartPlan, { kind: "start" }>,
  ): Promise<CronJobStatus> {
    let status = before;
    for (const reference of replaced) {
      const { namespace, name = "" } = reference;
      const running = await client.get("jobs", { namespace, name }, { signal }).catch((error: unknown) => {
        const message = `Get job: ${messageOf(error)}`;
        recorder.record(cronJob, { type: "Warning", reason: "FailedGet", message });
        throw error;
      });
      if (!(await deleteJob(cronJob, running))) throw new Error(`could not replace job ${namespace}/${name}`);
      status = withoutActive(status, reference.uid);
    }
    const created = await createJob(cronJob, job, at);
    const isListed = status.active?.some(({ uid }) => uid === created?.metadata.uid);
    if (!created || isListed) return status;
    const { namespace, name, uid, resourceVersion } = created.metadata;
    const reference = { apiVersion: "batch/v1", kind: "Job", namespace, name, uid, resourceVersion };
    return { ...status, active: [...(status.active ?? []), reference], lastScheduleTime: formatTime(at) };
  }

  /** Returns the Job, or undefined if another owner has a Job of this name. */
  async function createJob(cronJob: CronJob, job: Job, at: number): Promise<Job | undefined> {
    try {
      const created = await client.create("jobs", job, { signal });
      skew?.observe((Date.parse(created.metadata.creationTimestamp ?? "") - at) / 1_000);
      const message = `Created job ${created.metadata.name}`;
      recorder.record(cronJob, { type: "Normal", reason: "SuccessfulCreate", message });
      return created;
    } catch (error) {
      if (isAlreadyExists(error)) {
        // Created by this controller before a crash, unless it has another owner.
        const { namespace, name = "" } = job.metadata;
        const existing = await client.get("jobs", { namespace, name }, { signal });
        return controllerOf(existing)?.uid === cronJob.metadata.uid ? existing : undefined;
      }
      if (!isNamespaceTerminating(error)) {
        const message = `Error creating job: ${messageOf(error)}`;
        recorder.record(cronJob, { type: "Warning", reason: "FailedCreate", message });
      }
      throw error;
    }
  }

  async function deleteJob(cronJob: CronJob, { metadata }: Job): Promise<boolean> {
    const { namespace, name = "", uid } = metadata;
    const options = { propagationPolicy: "Background", preconditions: { uid }, signal } as const;
    try {
      await client.delete("jobs", { namespace, name }, options);
    } catch (error) {
      const message = `Deleted job: ${messageOf(error)}`;
      recorder.record(cronJob, { type: "Warning", reason: "FailedDelete", message });
      return false;
    }
    const message = `Deleted job ${name}`;
    recorder.record(cronJob, { type: "Normal", reason: "SuccessfulDelete", message });
    return true;
  }

  async function exists({ namespace, name = "" }: ActiveJob): Promise<boolean> {
    try {
      await client.get("jobs", { namespace, name }, { signal });
      return true;
    } catch (error) {
      if (isNotFound(error)) return false;
      throw error;
    }
  }

  async function writeStatus(key: string, cronJob: CronJob, status: CronJobStatus): Promise<void> {
    const next = { ...status, active: status.active?.length ? status.active : undefined };
    if (isEqual(cronJob.status ?? {}, next)) return;
    const written = { ...cronJob, status: next };
    memory.set(key, await client.update("cronjobs", written, { subresource: "status", signal }));
  }

  function nextTimeInMs(cronJob: CronJob): number | undefined {
    try {
      return nextScheduleInMs(cronJob, scheduleOf(cronJob), clock.now());
    } catch {
      // The next sync records an event about the schedule.
      return 0;
    }
  }

  return runController(context, { name: "cronjob", watch, reconcile }, signal);
}

function withoutActive(status: CronJobStatus, uid: string | undefined): CronJobStatus {
  return { ...status, active: status.active?.filter((reference) => reference.uid !== uid) };
}

function isScheduleChanged({ spec: before }: CronJob, { spec: after }: CronJob): boolean {
  return before?.schedule !== after?.schedule || before?.timeZone !== after?.timeZone;
}

import { controllerReference, isTrue } from "../../api/meta/object-facts.ts";
import type { CronJob, Job } from "../../api/meta/objects.ts";
import type { EventToRecord } from "../../client/events/event-recorder.ts";
import { CronScheduleError } from "../../lib/cron-schedule.ts";
import { isTimeZone, zoneOffsetMs } from "../../lib/time-zone.ts";
import { findMissedSchedules, NoScheduleError, nextScheduleInMs, scheduleOf } from "./cron-job-schedule.ts";

export type CronJobStatus = NonNullable<CronJob["status"]>;
type ActiveJob = NonNullable<CronJobStatus["active"]>[number];

/** What the Jobs of a CronJob mean for its status. */
export interface JobsReview {
  /** Finished Jobs beyond the history limits, oldest first. */
  readonly expired: readonly Job[];
  /** Active Jobs in the status that the cache does not contain. They may exist nevertheless. */
  readonly unseen: readonly ActiveJob[];
  readonly status: CronJobStatus;
  readonly events: readonly EventToRecord[];
}

export function reviewJobs(cronJob: CronJob, jobs: readonly Job[]): JobsReview {
  const { spec, status = {} } = cronJob;
  const events: EventToRecord[] = [];
  let { active = [], lastSuccessfulTime } = status;
  for (const job of jobs) {
    const { name, uid } = job.metadata;
    const isListed = active.some((reference) => reference.uid === uid);
    const condition = finishedConditionOf(job);
    if (!condition) {
      if (isListed) continue;
      const message = `Saw a job that the controller did not create or forgot: ${name}`;
      events.push({ type: "Warning", reason: "UnexpectedJob", message });
      continue;
    }
    if (isListed) {
      active = active.filter((reference) => reference.uid !== uid);
      const message = `Saw completed job: ${name}, condition: ${condition}`;
      events.push({ type: "Normal", reason: "SawCompletedJob", message });
    }
    const { completionTime } = job.status ?? {};
    if (condition === "Complete" && completionTime && timeOf(completionTime) > timeOf(lastSuccessfulTime))
      lastSuccessfulTime = completionTime;
  }
  const known = new Set(jobs.map(({ metadata }) => metadata.uid));
  return {
    expired: [
      ...oldest(jobs, "Complete", spec?.successfulJobsHistoryLimit),
      ...oldest(jobs, "Failed", spec?.failedJobsHistoryLimit),
    ],
    unseen: active.filter(({ uid }) => !known.has(uid)),
    status: { ...status, active, lastSuccessfulTime },
    events,
  };
}

function finishedConditionOf(job: Job): "Complete" | "Failed" | undefined {
  return (["Complete", "Failed"] as const).find((type) => isTrue(job, type));
}

function oldest(jobs: readonly Job[], condition: string, limit: number | undefined): readonly Job[] {
  if (limit === undefined) return [];
  const finished = jobs
    .filter((job) => finishedConditionOf(job) === condition)
    .sort((a, b) => startOf(a) - startOf(b) || ((a.metadata.name ?? "") < (b.metadata.name ?? "") ? -1 : 1));
  return finished.slice(0, Math.max(0, finished.length - limit));
}

function startOf({ status }: Job): number {
  return status?.startTime ? Date.parse(status.startTime) : Number.MAX_SAFE_INTEGER;
}

function timeOf(text: string | undefined): number {
  return (text && Date.parse(text)) || 0;
}

export type StartPlan =
  /** Nothing is created. Without a delay the CronJob waits for a change. */
  | { readonly kind: "wait"; readonly requeueAfterMs?: number; readonly event?: EventToRecord }
  | {
      readonly kind: "start";
      readonly job: Job;
      /** Time of the schedule. */
      readonly at: number;
      /** Active Jobs that the new one replaces. */
      readonly replaced: readonly ActiveJob[];
      readonly event?: EventToRecord;
    };

/** Decides whether a Job is due. The status lists the active Jobs. */
export function decideStart(cronJob: CronJob, now: number): StartPlan {
  const { metadata, spec, status } = cronJob;
  if (metadata.deletionTimestamp) return { kind: "wait" };
  const { timeZone, schedule: text = "", startingDeadlineSeconds, concurrencyPolicy } = spec ?? {};
  const warn = (reason: string, message: string): StartPlan => ({
    kind: "wait",
    event: { type: "Warning", reason, message },
  });
  if (timeZone !== undefined && !isTimeZone(timeZone)) {
    const problem = `unknown time zone ${timeZone}`;
    return warn("UnknownTimeZone", `invalid timeZone: ${JSON.stringify(timeZone)}: ${problem}`);
  }
  if (spec?.suspend) return { kind: "wait" };
  try {
    const schedule = scheduleOf(cronJob);
    const wait = (event?: EventToRecord): StartPlan => {
      const requeueAfterMs = nextScheduleInMs(cronJob, schedule, now);
      return {
        kind: "wait",
        ...(requeueAfterMs !== undefined && { requeueAfterMs }),
        ...(event && { event }),
      };
    };
    const { latest: at, missed } = findMissedSchedules({ cronJob, schedule, now, isDeadlineApplied: true });
    if (at === undefined) return wait();
    if (startingDeadlineSeconds !== undefined && at + startingDeadlineSeconds * 1_000 < now) {
      const time = new Date(at).toUTCString().replace("GMT", "+0000");
      const message = `Missed scheduled time to start a job: ${time}`;
      return wait({ type: "Warning", reason: "MissSchedule", message });
    }
    const job = jobFor(cronJob, at);
    const { active = [], lastScheduleTime } = status ?? {};
    const isStarted = active.some(({ name }) => name === job.metadata.name);
    if (isStarted || timeOf(lastScheduleTime) === at) return wait();
    if (concurrencyPolicy === "Forbid" && active.length > 0) {
      const message = "Not starting job because prior execution is running and concurrency policy is Forbid";
      return wait({ type: "Normal", reason: "JobAlreadyActive", message });
    }
    const advice = "Set or decrease .spec.startingDeadlineSeconds or check clock skew";
    return {
      kind: "start",
      job,
      at,
      replaced: concurrencyPolicy === "Replace" ? active : [],
      ...(missed === "many" && {
        event: {
          type: "Warning",
          reason: "TooManyMissedTimes",
          message: `too many missed start times. ${advice}`,
        },
      }),
    };
  } catch (error) {
    if (error instanceof CronScheduleError)
      return warn("UnparseableSchedule", `unparseable schedule: ${JSON.stringify(text)} : ${error.message}`);
    if (error instanceof NoScheduleError)
      return warn("InvalidSchedule", `invalid schedule: ${text} : ${error.message}`);
    throw error;
  }
}

/** Annotation of a Job with the time of its schedule. */
const scheduledTimeKey = "batch.kubernetes.io/cronjob-scheduled-timestamp";

/** The Job for a time of the schedule. Its name follows from the time, so that it cannot be created twice. */
function jobFor(cronJob: CronJob, at: number): Job {
  const { name = "", namespace } = cronJob.metadata;
  const { jobTemplate, timeZone = "UTC" } = cronJob.spec ?? {};
  const { labels, annotations } = jobTemplate?.metadata ?? {};
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: {
      name: `${name}-${Math.floor(at / 60_000)}`,
      namespace,
      ...(labels && { labels: { ...labels } }),
      annotations: { ...annotations, [scheduledTimeKey]: formatInZone(at, timeZone) },
      ownerReferences: [controllerReference(cronJob)],
    },
    ...(jobTemplate?.spec && { spec: jobTemplate.spec }),
  };
}

/** `2026-01-01T06:00:00+01:00` */
function formatInZone(ms: number, zone: string): string {
  const offsetMs = zoneOffsetMs(zone, ms);
  const text = new Date(ms + offsetMs).toISOString().slice(0, 19);
  if (offsetMs === 0) return `${text}Z`;
  const minutes = Math.floor(Math.abs(offsetMs) / 60_000);
  const pad = (value: number) => `${value}`.padStart(2, "0");
  return `${text}${offsetMs < 0 ? "-" : "+"}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

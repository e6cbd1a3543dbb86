import { isTrue } from "../api/meta/object-facts.ts";
import type { CronJob, Event } from "../api/meta/objects.ts";
import { formatTime } from "../api/meta/time.ts";
import { CronScheduleError, parseCronSchedule } from "../lib/cron-schedule.ts";
import { inCommands } from "./commands.ts";
import { explainJob, type JobFacts } from "./explain-job.ts";
import { lastEvent, sentence, type WorkloadExplanation } from "./explanation.ts";

export interface CronJobFacts {
  readonly cronJob: CronJob;
  /** The Job that was created last, with its pods. */
  readonly lastJob: Omit<JobFacts, "now"> | undefined;
  /** Events of the CronJob, in any order. */
  readonly events?: readonly Event[];
  /** Milliseconds since the epoch. */
  readonly now: number;
}

/** Explains when a CronJob creates its next Job, what prevents it, and what its last Job waits for. */
export function explainCronJob({ cronJob, lastJob, events = [], now }: CronJobFacts): WorkloadExplanation {
  const { spec, status } = cronJob;
  const active = status?.active?.length ?? 0;
  const last = lastJob && explainJob({ ...lastJob, now });
  const hasFailed = lastJob !== undefined && isTrue(lastJob.job, "Failed");
  const start = explainStart(cronJob, { events, now });
  const lastName = lastJob?.job.metadata.name;
  return {
    replicas: 0,
    ready: 0,
    updated: 0,
    strategy: `${spec?.schedule ?? ""}${spec?.timeZone ? ` ${spec.timeZone}` : ""}`,
    progress: `${active} active`,
    isOver: false,
    because: [start.because, ...(last ? [`Its last Job is ${lastName}: ${last.because}`] : [])].join(" "),
    isTransient: start.fix === undefined && !hasFailed,
    fix: start.fix ?? (hasFailed ? last?.fix : undefined),
    blockingPod: last?.blockingPod,
  };
}

function explainStart(
  cronJob: CronJob,
  { events, now }: { readonly events: readonly Event[]; readonly now: number },
): { readonly because: string; readonly fix?: string } {
  const { metadata, spec, status } = cronJob;
  const { schedule = "", timeZone, concurrencyPolicy } = spec ?? {};
  if (metadata.deletionTimestamp) return { because: "The CronJob is being deleted." };
  if (spec?.suspend) {
    const patch = `kubectl patch cronjob ${inCommands(cronJob)} --type merge -p '{"spec":{"suspend":false}}'`;
    return { because: "The CronJob is suspended (spec.suspend).", fix: `resume it: ${patch}` };
  }
  let next: number | undefined;
  try {
    next = parseCronSchedule(schedule, timeZone).next(now);
  } catch (error) {
    if (!(error instanceof CronScheduleError) && !(error instanceof RangeError)) throw error;
    const because = sentence(`The schedule ${JSON.stringify(schedule)} is invalid: ${error.message}`);
    return { because, fix: `correct spec.schedule: kubectl edit cronjob ${inCommands(cronJob)}` };
  }
  if (next === undefined)
    return {
      because: `The schedule ${JSON.stringify(schedule)} has no time within five years.`,
      fix: `correct spec.schedule: kubectl edit cronjob ${inCommands(cronJob)}`,
    };
  const isHeld = concurrencyPolicy === "Forbid" && (status?.active?.length ?? 0) > 0;
  const problem = lastEvent({ events }, "FailedCreate", "MissSchedule", "TooManyMissedTimes")?.message;
  const condition = isHeld ? ", if its active Job has ended by then (concurrencyPolicy: Forbid)" : "";
  const because = `The next Job is created at ${formatTime(next)}${condition}.`;
  return { because: problem ? `${because} ${sentence(problem)}` : because };
}

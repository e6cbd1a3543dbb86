import type { CronJob } from "../../api/meta/objects.ts";
import { type CronSchedule, parseCronSchedule } from "../../lib/cron-schedule.ts";

/** Added to the time of a sync, so that a small clock skew does not make it too early. */
const syncDelayMs = 100;
/** Missed times above which a warning is recorded. */
const manyMissed = 100;

export interface MissedSchedules {
  /** Time from which missed schedules are counted: the last schedule or the creation. */
  readonly since: number;
  /** The latest time at or before now at which a Job should have been created. */
  readonly latest?: number;
  readonly missed: "none" | "few" | "many";
}

/** Schedule of a CronJob. Throws a CronScheduleError. */
export function scheduleOf({ spec }: CronJob): CronSchedule {
  const { schedule = "", timeZone } = spec ?? {};
  return parseCronSchedule(schedule, timeZone);
}

/** The schedule is valid but has no times, such as 31 February. */
export class NoScheduleError extends Error {}

interface Question {
  readonly cronJob: CronJob;
  readonly schedule: CronSchedule;
  readonly now: number;
  /** Whether times before the starting deadline are left out. */
  readonly isDeadlineApplied: boolean;
}

export function findMissedSchedules({
  cronJob,
  schedule,
  now,
  isDeadlineApplied,
}: Question): MissedSchedules {
  const { metadata, spec, status } = cronJob;
  const deadlineSeconds = isDeadlineApplied ? spec?.startingDeadlineSeconds : undefined;
  const since = Math.max(
    Date.parse(status?.lastScheduleTime ?? metadata.creationTimestamp ?? "") || 0,
    deadlineSeconds === undefined ? 0 : now - deadlineSeconds * 1_000,
  );
  const first = schedule.next(since);
  const second = first === undefined ? undefined : schedule.next(first);
  if (first === undefined || second === undefined)
    throw new NoScheduleError("time difference between two schedules is less than 1 second");
  if (now < first) return { since, missed: "none" };
  if (now < second) return { since, latest: first, missed: "none" };
  // The number of missed times is an estimate from the first two, so that years of them cost nothing.
  const interval = Math.round((second - first) / 1_000) * 1_000;
  const count = Math.floor((now - first) / interval) + 1;
  let latest: number | undefined;
  for (let time = schedule.next(first + (count - 2) * interval); time !== undefined && time <= now; ) {
    latest = time;
    time = schedule.next(time);
  }
  const missed = count > manyMissed ? "many" : "few";
  return { since, missed, ...(latest !== undefined && { latest }) };
}

/** Milliseconds until the next time of the schedule. */
export function nextScheduleInMs(cronJob: CronJob, schedule: CronSchedule, now: number): number | undefined {
  const { since, latest, missed } = findMissedSchedules({ cronJob, schedule, now, isDeadlineApplied: false });
  const next = schedule.next(latest ?? (missed === "none" ? since : now));
  return next === undefined ? undefined : Math.max(0, next + syncDelayMs - now);
}

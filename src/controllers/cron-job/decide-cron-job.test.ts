import { describe, expect, test } from "vitest";
import type { CronJob, Job } from "../../api/meta/objects.ts";
import { decideStart, reviewJobs } from "./decide-cron-job.ts";

const now = Date.parse("2026-01-01T12:00:30Z");
const minute = 60_000;

function cronJobOf(
  spec: Partial<NonNullable<CronJob["spec"]>> = {},
  status: CronJob["status"] = {},
): CronJob {
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: {
      name: "cron",
      namespace: "default",
      uid: "uid-cron",
      creationTimestamp: "2026-01-01T11:59:30Z",
    },
    spec: {
      schedule: "* * * * *",
      timeZone: "UTC",
      concurrencyPolicy: "Allow",
      successfulJobsHistoryLimit: 1,
      failedJobsHistoryLimit: 1,
      jobTemplate: { metadata: { labels: { a: "b" } }, spec: { template: { spec: { containers: [] } } } },
      ...spec,
    },
    status,
  };
}

const active = [{ name: "cron-1", namespace: "default", uid: "uid-cron-1" }];

/** `start NAME`, `wait MS`, with the reason of an event. */
function summary(cronJob: CronJob, at = now): string {
  const plan = decideStart(cronJob, at);
  const what = plan.kind === "start" ? `start ${plan.job.metadata.name}` : `wait ${plan.requeueAfterMs}`;
  return plan.event ? `${what} ${plan.event.reason}` : what;
}

describe("a Job", () => {
  test.each<[string, CronJob, string]>([
    ["is started at its time", cronJobOf(), "start cron-29454480"],
    ["is not started twice", cronJobOf({}, { lastScheduleTime: "2026-01-01T12:00:00Z" }), "wait 30100"],
    ["is not started before its time", cronJobOf({ schedule: "5 * * * *" }), "wait 270100"],
    ["of a suspended CronJob is not started", cronJobOf({ suspend: true }), "wait undefined"],
    [
      "waits for the active one with Forbid",
      cronJobOf({ concurrencyPolicy: "Forbid" }, { active }),
      "wait 30100 JobAlreadyActive",
    ],
    [
      "replaces the active one with Replace",
      cronJobOf({ concurrencyPolicy: "Replace" }, { active }),
      "start cron-29454480",
    ],
    ["is skipped after its starting deadline", cronJobOf({ startingDeadlineSeconds: 10 }), "wait 30100"],
    [
      "of an unknown time zone is not started",
      cronJobOf({ timeZone: "No/Where" }),
      "wait undefined UnknownTimeZone",
    ],
    [
      "of a malformed schedule is not started",
      cronJobOf({ schedule: "x" }),
      "wait undefined UnparseableSchedule",
    ],
    [
      "of a day that never comes is not started",
      cronJobOf({ schedule: "0 0 31 2 *" }),
      "wait undefined InvalidSchedule",
    ],
    [
      "is started once for a few missed times",
      cronJobOf({}, { lastScheduleTime: "2026-01-01T11:00:00Z" }),
      "start cron-29454480",
    ],
    [
      "is started with a warning after more than 100 missed times",
      cronJobOf({}, { lastScheduleTime: "2026-01-01T01:00:00Z" }),
      "start cron-29454480 TooManyMissedTimes",
    ],
    [
      "is not warned about with a starting deadline",
      cronJobOf({ startingDeadlineSeconds: 300 }, { lastScheduleTime: "2026-01-01T01:00:00Z" }),
      "start cron-29454480",
    ],
  ])("%s", (_, cronJob, expected) => {
    expect(summary(cronJob)).toBe(expected);
  });

  test("has the labels of the template, the time in the zone and its owner", () => {
    const plan = decideStart(cronJobOf({ timeZone: "Asia/Kolkata" }), now);
    expect(plan.kind === "start" && plan.job.metadata).toMatchObject({
      labels: { a: "b" },
      annotations: { "batch.kubernetes.io/cronjob-scheduled-timestamp": "2026-01-01T17:30:00+05:30" },
      ownerReferences: [{ kind: "CronJob", uid: "uid-cron", controller: true }],
    });
  });

  test("of @every follows the last one", () => {
    const status = { lastScheduleTime: "2026-01-01T11:58:30Z" };
    expect(summary(cronJobOf({ schedule: "@every 1m30s" }, status))).toBe(`start cron-29454480`);
    expect(summary(cronJobOf({ schedule: "@every 5m" }, status))).toBe(`wait ${3 * minute + 100}`);
  });
});

describe("the review of Jobs", () => {
  function jobOf(name: string, condition?: string, minutesAgo = 10): Job {
    const time = new Date(now - minutesAgo * minute).toISOString().replace(".000", "");
    return {
      apiVersion: "batch/v1",
      kind: "Job",
      metadata: { name, namespace: "default", uid: `uid-${name}` },
      status: {
        startTime: time,
        ...(condition && { conditions: [{ type: condition, status: "True" }] }),
        ...(condition === "Complete" && { completionTime: time }),
      },
    };
  }

  test("removes finished Jobs from the active ones and records the last success", () => {
    const review = reviewJobs(cronJobOf({}, { active }), [
      jobOf("cron-1", "Complete"),
      jobOf("cron-2", "Failed", 2),
    ]);
    expect(review.status).toEqual({ active: [], lastSuccessfulTime: "2026-01-01T11:50:30Z" });
    expect(review.events).toEqual([
      {
        type: "Normal",
        reason: "SawCompletedJob",
        message: "Saw completed job: cron-1, condition: Complete",
      },
    ]);
  });

  test("finds the oldest Jobs beyond the limits", () => {
    const jobs = [
      jobOf("a", "Complete", 1),
      jobOf("b", "Complete", 9),
      jobOf("c", "Failed", 3),
      jobOf("d", "Failed", 4),
    ];
    expect(reviewJobs(cronJobOf(), jobs).expired.map(({ metadata }) => metadata.name)).toEqual(["b", "d"]);
    const unlimited = cronJobOf({ successfulJobsHistoryLimit: undefined, failedJobsHistoryLimit: undefined });
    expect(reviewJobs(unlimited, jobs).expired).toEqual([]);
  });

  test("reports Jobs that the status lacks, and active ones that the cache lacks", () => {
    const review = reviewJobs(cronJobOf({}, { active }), [jobOf("other")]);
    expect(review.unseen).toEqual(active);
    expect(review.events[0]?.message).toBe("Saw a job that the controller did not create or forgot: other");
  });
});

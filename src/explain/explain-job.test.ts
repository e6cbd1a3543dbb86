import { describe, expect, test } from "vitest";
import type { CronJob, Job, Pod } from "../api/meta/objects.ts";
import { explainCronJob } from "./explain-cron-job.ts";
import { explainJob } from "./explain-job.ts";

const now = Date.parse("2026-01-01T12:00:30Z");

function jobOf(spec: Partial<NonNullable<Job["spec"]>> = {}, status: Job["status"] = {}): Job {
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "work", namespace: "jobs" },
    spec: { completions: 3, parallelism: 1, backoffLimit: 6, template: {}, ...spec },
    status,
  };
}

function podOf(name: string, phase: string, isReady = false): Pod {
  const conditions = [{ type: "Ready", status: isReady ? "True" : "False" }];
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: "jobs" },
    status: { phase, conditions },
  };
}

const condition = (type: string, reason = "", message = "") => ({ type, status: "True", reason, message });
const rejected = {
  apiVersion: "v1",
  kind: "Event",
  metadata: {},
  involvedObject: {},
  reason: "FailedCreate",
  message: "Error creating: pods is forbidden",
};

describe("a Job", () => {
  test.each<[string, Job, Pod[], { because: string; blockingPod?: string; isTransient?: boolean }]>([
    [
      "that has just been created",
      jobOf(),
      [],
      { because: "The Job has no pods: Error creating: pods is forbidden." },
    ],
    [
      "with a pod that is not ready",
      jobOf(),
      [podOf("work-a", "Pending")],
      { because: "The Job waits for pod work-a.", blockingPod: "work-a" },
    ],
    ["with running pods", jobOf(), [podOf("work-a", "Running", true)], { because: "1 pod is running." }],
    [
      "in its back-off",
      jobOf({}, { failed: 2 }),
      [podOf("work-a", "Failed")],
      {
        because:
          "Pod work-a failed, and the next pod is created after a back-off: 2 failures, at most 6 are allowed (spec.backoffLimit).",
        blockingPod: "work-a",
      },
    ],
    [
      "that is suspended",
      jobOf({ suspend: true }),
      [],
      { because: "The Job is suspended (spec.suspend).", isTransient: false },
    ],
    [
      "that fails",
      jobOf({}, { terminating: 1, conditions: [condition("FailureTarget", "DeadlineExceeded")] }),
      [],
      { because: "The Job is failing (DeadlineExceeded) and waits for 1 pod to terminate." },
    ],
    [
      "that has failed",
      jobOf(
        {},
        {
          conditions: [
            condition("Failed", "BackoffLimitExceeded", "Job has reached the specified backoff limit"),
          ],
        },
      ),
      [podOf("work-a", "Failed")],
      {
        because: "The Job has failed (BackoffLimitExceeded): Job has reached the specified backoff limit.",
        blockingPod: "work-a",
        isTransient: false,
      },
    ],
    [
      "that is complete",
      jobOf(
        {},
        {
          succeeded: 3,
          conditions: [
            condition("Complete", "CompletionsReached", "Reached expected number of succeeded pods"),
          ],
        },
      ),
      [],
      { because: "The Job is complete: Reached expected number of succeeded pods." },
    ],
  ])("%s", (_, job, pods, expected) => {
    const { because, blockingPod, isTransient } = explainJob({ job, pods, events: [rejected], now });
    expect({ because, blockingPod, isTransient }).toEqual({
      blockingPod: undefined,
      isTransient: true,
      ...expected,
    });
  });

  test("shows its progress", () => {
    const { progress, isOver } = explainJob({ job: jobOf({}, { succeeded: 1, failed: 2 }), pods: [], now });
    expect({ progress, isOver }).toEqual({ progress: "1 of 3 succeeded, 2 failed", isOver: false });
  });
});

describe("a CronJob", () => {
  function because(spec: Partial<NonNullable<CronJob["spec"]>>, lastJob?: Job): string {
    const cronJob: CronJob = {
      apiVersion: "batch/v1",
      kind: "CronJob",
      metadata: { name: "cron", namespace: "default" },
      spec: { schedule: "*/5 * * * *", timeZone: "UTC", jobTemplate: {}, ...spec },
      status: { active: [{ name: "cron-1" }] },
    };
    return explainCronJob({ cronJob, lastJob: lastJob && { job: lastJob, pods: [] }, now }).because;
  }

  test.each<[Partial<NonNullable<CronJob["spec"]>>, string]>([
    [{}, "The next Job is created at 2026-01-01T12:05:00Z."],
    [{ suspend: true }, "The CronJob is suspended (spec.suspend)."],
    [
      { concurrencyPolicy: "Forbid" },
      "The next Job is created at 2026-01-01T12:05:00Z, if its active Job has ended by then (concurrencyPolicy: Forbid).",
    ],
    [{ schedule: "0 0 31 2 *" }, 'The schedule "0 0 31 2 *" has no time within five years.'],
  ])("%j", (spec, expected) => {
    expect(because(spec)).toBe(expected);
  });

  test("names what its last Job waits for", () => {
    expect(because({}, jobOf())).toBe(
      "The next Job is created at 2026-01-01T12:05:00Z. Its last Job is work: The Job has no pods yet.",
    );
  });
});

import { describe, expect, test } from "vitest";
import type { Job, Pod } from "../../api/meta/objects.ts";
import { decideJob } from "./decide-job.ts";
import { trackPods } from "./decide-status.ts";
import { ago, jobOf, jobPodOf, now } from "./job.fixture.ts";
import { newPod } from "./new-pod.ts";
import { observeJob } from "./observe-job.ts";
import { noFailures, recordFinished } from "./pod-back-off.ts";

function plan(job: Job, pods: readonly Pod[] = [], isCacheCurrent = true) {
  const observed = observeJob({ job, pods, released: new Set(), now });
  const { newlySucceeded: succeeded, newlyFailed: failed } = observed;
  const backOff = recordFinished(noFailures, { succeeded, failed });
  return { observed, ...decideJob(observed, { isCacheCurrent, backOff }) };
}

function track(job: Job, pods: readonly Pod[] = []) {
  const { observed, ...decided } = plan(job, pods);
  const deleted =
    decided.pods.kind === "delete" || decided.pods.kind === "terminate" ? decided.pods.pods : [];
  const created = decided.pods.kind === "create" ? decided.pods.indexes.length : 0;
  return trackPods(observed, decided, { created, deleted });
}

const indexed = { completionMode: "Indexed", completions: 3, parallelism: 3 };
const perIndex = { ...indexed, backoffLimitPerIndex: 1 };
const succeeded = (name: string, index?: number) => jobPodOf({ name, phase: "Succeeded", index });
const failed = (name: string, more: object = {}) => jobPodOf({ name, phase: "Failed", ...more });
const names = (pods: readonly Pod[]) => pods.map(({ metadata }) => metadata.name);

describe("pods", () => {
  test.each<[string, Job, Pod[], unknown]>([
    [
      "a new Job",
      jobOf({ completions: 5, parallelism: 2 }),
      [],
      { kind: "create", indexes: [undefined, undefined] },
    ],
    ["a Job with its pods", jobOf(), [jobPodOf()], { kind: "keep" }],
    [
      "fewer pods than completions are left",
      jobOf({ completions: 3, parallelism: 3 }),
      [succeeded("a"), succeeded("b"), jobPodOf()],
      { kind: "keep" },
    ],
    [
      "a work queue after its first success",
      jobOf({ completions: undefined, parallelism: 2 }),
      [succeeded("a"), jobPodOf({ name: "b" })],
      { kind: "keep" },
    ],
    ["a suspended Job", jobOf({ suspend: true }), [], { kind: "keep" }],
    ["a Job that is deleted", jobOf({}, { metadata: { deletionTimestamp: ago(1) } }), [], { kind: "keep" }],
    [
      "a failure 4 seconds ago",
      jobOf(),
      [failed("a", { endedAgo: 4 })],
      { kind: "backOff", requeueAfterMs: 6_000 },
    ],
    [
      "two failures, the last 15 seconds ago",
      jobOf(),
      [failed("a", { endedAgo: 40 }), failed("b", { endedAgo: 15 })],
      { kind: "backOff", requeueAfterMs: 5_000 },
    ],
    [
      "a failure 11 seconds ago",
      jobOf(),
      [failed("a", { endedAgo: 11 })],
      { kind: "create", indexes: [undefined] },
    ],
    [
      "a terminating pod",
      jobOf(),
      [jobPodOf({ deleting: true })],
      { kind: "backOff", requeueAfterMs: 9_000 },
    ],
    [
      "a terminating pod that must fail first",
      jobOf({ podReplacementPolicy: "Failed" }),
      [jobPodOf({ deleting: true })],
      { kind: "keep" },
    ],
    ["an Indexed Job", jobOf(indexed), [succeeded("a", 1)], { kind: "create", indexes: [0, 2] }],
    [
      "an index in its back-off",
      jobOf(perIndex),
      [
        failed("a", { index: 0, failures: 0, endedAgo: 4 }),
        jobPodOf({ name: "b", index: 1 }),
        jobPodOf({ name: "c", index: 2 }),
      ],
      { kind: "backOff", requeueAfterMs: 6_000 },
    ],
    [
      "an index after its back-off",
      jobOf(perIndex),
      [failed("a", { index: 0, failures: 0, endedAgo: 11 }), jobPodOf({ name: "b", index: 1 })],
      { kind: "create", indexes: [0, 2] },
    ],
  ])("%s", (_, job, pods, expected) => {
    expect(plan(job, pods).pods).toEqual(expected);
  });

  test("a suspended Job deletes its pods", () => {
    expect(plan(jobOf({ suspend: true }), [jobPodOf()]).pods).toMatchObject({ kind: "delete" });
  });

  test("the pod that is furthest from success is deleted first", () => {
    const pods = [jobPodOf({ name: "running" }), jobPodOf({ name: "pending", phase: "Pending" })];
    const decided = plan(jobOf({ completions: 3, parallelism: 1 }), pods).pods;
    expect(decided.kind === "delete" && names(decided.pods)).toEqual(["pending"]);
  });

  test("pods with a repeated or an invalid index are deleted", () => {
    const pods = [
      jobPodOf({ name: "a", index: 0 }),
      jobPodOf({ name: "b", index: 0, phase: "Pending" }),
      jobPodOf({ name: "c", index: 9 }),
    ];
    const decided = plan(jobOf(indexed), pods).pods;
    expect(decided.kind === "delete" && names(decided.pods).sort()).toEqual(["b", "c"]);
  });

  test("nothing is created before the cache shows earlier creations", () => {
    expect(plan(jobOf(), [], false).pods).toEqual({ kind: "keep" });
  });
});

describe("outcome", () => {
  const failJob = { rules: [{ action: "FailJob", onExitCodes: { operator: "In", values: [42] } }] };
  const restarted = {
    phase: "Running",
    containerStatuses: [{ name: "c", image: "", imageID: "", ready: true, restartCount: 3 }],
  };
  const onFailure = { spec: { restartPolicy: "OnFailure", containers: [] } };

  test.each<[string, Job, Pod[], string | undefined]>([
    ["no failure", jobOf(), [jobPodOf()], undefined],
    [
      "more failures than the limit",
      jobOf({ backoffLimit: 0 }),
      [failed("a")],
      "FailureTarget BackoffLimitExceeded: Job has reached the specified backoff limit",
    ],
    ["as many failures as the limit", jobOf({ backoffLimit: 1 }), [failed("a")], undefined],
    [
      "restarts in place",
      jobOf({ backoffLimit: 3, template: onFailure }),
      [jobPodOf({ status: restarted })],
      "FailureTarget BackoffLimitExceeded: Job has reached the specified backoff limit",
    ],
    [
      "the active deadline",
      jobOf({ activeDeadlineSeconds: 10 }, { status: { startTime: ago(10) } }),
      [jobPodOf()],
      "FailureTarget DeadlineExceeded: Job was active longer than specified deadline",
    ],
    [
      "the failure policy",
      jobOf({ podFailurePolicy: failJob }),
      [failed("a", { exitCode: 42 })],
      "FailureTarget PodFailurePolicy: Container c for pod default/a failed with exit code 42 matching FailJob rule at index 0",
    ],
    ["another exit code", jobOf({ podFailurePolicy: failJob }), [failed("a", { exitCode: 41 })], undefined],
    [
      "all indexes ended, one failed",
      jobOf({ ...perIndex, completions: 2 }),
      [succeeded("a", 0), failed("b", { index: 1, failures: 1 })],
      "FailureTarget FailedIndexes: Job has failed indexes",
    ],
    [
      "too many failed indexes",
      jobOf({ ...perIndex, maxFailedIndexes: 0 }),
      [failed("b", { index: 1, failures: 1 })],
      "FailureTarget MaxFailedIndexesExceeded: Job has exceeded the specified maximal number of failed indexes",
    ],
    [
      "the success policy",
      jobOf({
        ...indexed,
        successPolicy: { rules: [{ succeededCount: 3 }, { succeededIndexes: "1-2", succeededCount: 1 }] },
      }),
      [succeeded("a", 2)],
      "SuccessCriteriaMet SuccessPolicy: Matched rules at index 1",
    ],
  ])("%s", (_, job, pods, expected) => {
    const { outcome } = plan(job, pods);
    expect(outcome && `${outcome.type} ${outcome.reason}: ${outcome.message}`).toBe(expected);
  });

  test("an ignored failure does not count", () => {
    const rule = { action: "Ignore", onPodConditions: [{ type: "DisruptionTarget", status: "True" }] };
    const pod = failed("a", {
      status: { phase: "Failed", conditions: [{ type: "DisruptionTarget", status: "True" }] },
    });
    const { status, policyActions } = track(jobOf({ backoffLimit: 0, podFailurePolicy: { rules: [rule] } }), [
      pod,
    ]);
    expect(status?.conditions).toBeUndefined();
    expect(status?.uncountedTerminatedPods).toEqual({});
    expect(policyActions).toEqual({ Ignore: 1 });
  });
});

describe("status", () => {
  test("a new Job starts and counts the pods it creates", () => {
    const { status } = track(jobOf({ completions: 2, parallelism: 2 }));
    expect(status).toEqual({
      startTime: ago(0),
      active: 2,
      ready: 0,
      terminating: 0,
      uncountedTerminatedPods: {},
    });
  });

  test("finished pods are recorded before their finalizer is removed", () => {
    const { status, release } = track(jobOf({ completions: 3, parallelism: 1 }), [
      succeeded("a"),
      failed("b"),
    ]);
    expect(status?.uncountedTerminatedPods).toEqual({ succeeded: ["uid-a"], failed: ["uid-b"] });
    expect(names(release)).toEqual(["a", "b"]);
    expect(status?.succeeded).toBeUndefined();
  });

  test("recorded pods without a finalizer are counted", () => {
    const before = { uncountedTerminatedPods: { succeeded: ["uid-a"], failed: ["uid-gone"] } };
    const pod = jobPodOf({ name: "a", phase: "Succeeded", tracked: false });
    const { status } = track(jobOf({ completions: 3 }, { status: before }), [pod]);
    expect(status).toMatchObject({ succeeded: 1, failed: 1, uncountedTerminatedPods: {} });
  });

  test("the failed pod of an index keeps its finalizer until it is replaced", () => {
    const pod = failed("a", { index: 0, failures: 0 });
    expect(track(jobOf(perIndex), [pod]).release).toEqual([]);
    const replacement = jobPodOf({ name: "b", index: 0, failures: 1 });
    expect(names(track(jobOf(perIndex), [pod, replacement]).release)).toEqual(["a"]);
  });

  test("suspending and resuming change the condition and the start time", () => {
    const suspended = track(jobOf({ suspend: true }, { status: { startTime: ago(100) } }), [jobPodOf()]);
    expect(suspended.status?.startTime).toBeUndefined();
    expect(suspended.status?.conditions).toMatchObject([
      { type: "Suspended", status: "True", reason: "JobSuspended" },
    ]);
    expect(suspended.events).toEqual([{ type: "Normal", reason: "Suspended", message: "Job suspended" }]);
    const resumed = track(jobOf({}, { status: suspended.status }));
    expect(resumed.status?.startTime).toBe(ago(0));
    expect(resumed.status?.conditions).toMatchObject([
      { type: "Suspended", status: "False", reason: "JobResumed" },
    ]);
    expect(resumed.events).toEqual([{ type: "Normal", reason: "Resumed", message: "Job resumed" }]);
  });

  test("a Job with more than 500 finished pods does not end in one sync", () => {
    const pods = Array.from({ length: 501 }, (_, i) => succeeded(`p${i}`));
    const { status, release, terminal } = track(jobOf({ completions: 501 }), pods);
    expect(release).toHaveLength(500);
    expect(status?.uncountedTerminatedPods?.succeeded).toHaveLength(500);
    expect(terminal).toBeUndefined();
  });
});

test("a pod of an index has its annotation, label, host name and variable", () => {
  const replaced = failed("a", { index: 7, failures: 2 });
  const pod = newPod(jobOf({ ...perIndex, completions: 10 }), { index: 7, replaced });
  expect(pod.metadata).toMatchObject({
    generateName: "job-7-",
    labels: { "batch.kubernetes.io/job-completion-index": "7" },
    annotations: {
      "batch.kubernetes.io/job-completion-index": "7",
      "batch.kubernetes.io/job-index-failure-count": "3",
    },
    finalizers: ["batch.kubernetes.io/job-tracking"],
    ownerReferences: [{ kind: "Job", name: "job", controller: true }],
  });
  expect(pod.spec?.hostname).toBe("job-7");
  expect(pod.spec?.containers[0]?.env).toEqual([
    {
      name: "JOB_COMPLETION_INDEX",
      valueFrom: { fieldRef: { fieldPath: "metadata.labels['batch.kubernetes.io/job-completion-index']" } },
    },
  ]);
});

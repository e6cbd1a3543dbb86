import { expect, test } from "vitest";
import type { Job } from "../../api/meta/objects.ts";
import { expiresAt } from "./ttl-after-finished-controller.ts";

const finishedAt = "2026-01-01T12:00:00Z";

function jobOf(ttlSecondsAfterFinished: number | undefined, type: string, more: Job["metadata"] = {}): Job {
  const conditions = [{ type, status: "True", lastTransitionTime: finishedAt }];
  const spec = { template: {}, ...(ttlSecondsAfterFinished !== undefined && { ttlSecondsAfterFinished }) };
  return { apiVersion: "batch/v1", kind: "Job", metadata: more, spec, status: { conditions } };
}

test.each<[string, Job, string | undefined]>([
  ["a completed Job", jobOf(60, "Complete"), "2026-01-01T12:01:00.000Z"],
  ["a failed Job", jobOf(0, "Failed"), "2026-01-01T12:00:00.000Z"],
  ["a running Job", jobOf(60, "Suspended"), undefined],
  ["a Job without a time to live", jobOf(undefined, "Complete"), undefined],
  ["a Job that is being deleted", jobOf(60, "Complete", { deletionTimestamp: finishedAt }), undefined],
])("%s expires at the right time", (_, job, expected) => {
  const at = expiresAt(job);
  expect(at === undefined ? undefined : new Date(at).toISOString()).toBe(expected);
});

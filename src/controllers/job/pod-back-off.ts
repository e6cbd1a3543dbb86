import type { Pod } from "../../api/meta/objects.ts";
import { earlierFailuresOf, finishedAt } from "./job-facts.ts";

/** Failures of a Job's pods since the last success. Kept in memory only, as upstream. */
export interface BackOffRecord {
  readonly failures: number;
  readonly lastFailureAt?: number;
}

export const noFailures: BackOffRecord = { failures: 0 };

const firstDelayMs = 10_000;
const maxDelayMs = 10 * 60_000;

/** Record after pods have succeeded or failed. */
export function recordFinished(
  record: BackOffRecord,
  { succeeded, failed }: { readonly succeeded: readonly Pod[]; readonly failed: readonly Pod[] },
): BackOffRecord {
  const failedAt = failed.map(finishedAt);
  if (succeeded.length === 0) {
    if (failedAt.length === 0) return record;
    return { failures: record.failures + failedAt.length, lastFailureAt: Math.max(...failedAt) };
  }
  const lastSuccessAt = Math.max(...succeeded.map(finishedAt));
  const later = failedAt.filter((time) => time > lastSuccessAt);
  return later.length === 0 ? noFailures : { failures: later.length, lastFailureAt: Math.max(...later) };
}

/** Milliseconds until the Job may create a pod again. */
export function backOffMs({ failures, lastFailureAt = 0 }: BackOffRecord, now: number): number {
  if (failures === 0) return 0;
  const delayMs = Math.min(firstDelayMs * 2 ** (failures - 1), maxDelayMs);
  return Math.max(0, lastFailureAt + delayMs - now);
}

/** Milliseconds until the last failed pod of an index may be replaced. */
export function indexBackOffMs(lastFailed: Pod | undefined, now: number): number {
  if (!lastFailed) return 0;
  const failures = earlierFailuresOf(lastFailed) + 1;
  return backOffMs({ failures, lastFailureAt: finishedAt(lastFailed) }, now);
}

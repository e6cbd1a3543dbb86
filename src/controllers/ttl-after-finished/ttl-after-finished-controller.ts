import { conditionOf } from "../../api/meta/object-facts.ts";
import type { Job } from "../../api/meta/objects.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isNotFound } from "../../client/transport/status-errors.ts";
import { exponentialBuckets } from "../../lib/metrics/metrics.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";

const deletionDelay = {
  name: "ttl_after_finished_controller_job_deletion_duration_seconds",
  help: "Seconds between the expiry of a finished Job and its deletion",
  buckets: exponentialBuckets(0.1, 2, 14),
};

/** Time at which a finished Job expires. Undefined if it never does. */
export function expiresAt({ metadata, spec, status }: Job): number | undefined {
  const ttlSeconds = spec?.ttlSecondsAfterFinished;
  if (ttlSeconds === undefined || metadata.deletionTimestamp) return undefined;
  const condition = ["Complete", "Failed"]
    .map((type) => conditionOf({ status }, type))
    .find((found) => found?.status === "True");
  const finishedAt = Date.parse(condition?.lastTransitionTime ?? "");
  return Number.isNaN(finishedAt) ? undefined : finishedAt + ttlSeconds * 1_000;
}

/** Deletes finished Jobs whose `ttlSecondsAfterFinished` has passed, until the signal aborts. */
export function runTtlAfterFinishedController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, informers } = context;
  const jobs = informers.of("jobs");
  const delay = context.metrics?.histogram(deletionDelay);

  function watch(queue: Pick<WorkQueue, "add">): void {
    jobs.onChange(({ kind, object }) => {
      if (kind !== "deleted" && expiresAt(object) !== undefined) queue.add(keyOf(object));
    });
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const cached = jobs.get(key);
    const expiry = cached && expiresAt(cached);
    if (expiry === undefined) return undefined;
    if (expiry > clock.now()) return { requeueAfterMs: expiry - clock.now() };
    const { namespace, name = "" } = cached?.metadata ?? {};
    try {
      // The time to live may have been extended, which the cache may not know yet.
      const fresh = await client.get("jobs", { namespace, name }, { signal });
      const freshExpiry = expiresAt(fresh);
      if (freshExpiry === undefined) return undefined;
      if (freshExpiry > clock.now()) return { requeueAfterMs: freshExpiry - clock.now() };
      const { uid } = fresh.metadata;
      const options = { propagationPolicy: "Foreground", preconditions: { uid }, signal } as const;
      await client.delete("jobs", { namespace, name }, options);
      delay?.observe((clock.now() - freshExpiry) / 1_000);
    } catch (error) {
      if (!isNotFound(error)) throw error;
    }
    return undefined;
  }

  return runController(context, { name: "ttl_jobs_to_delete", watch, reconcile }, signal);
}

import type { Job, Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { Expectations } from "../../client/queue/expectations.ts";
import { isNamespaceTerminating, isNotFound } from "../../client/transport/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { slowStart } from "../shared/slow-start.ts";
import type { PodsPlan } from "./decide-job.ts";
import type { PodsResult } from "./decide-status.ts";
import { hasTrackingFinalizer, trackingFinalizer } from "./job-facts.ts";
import { newPod } from "./new-pod.ts";
import type { ObservedJob } from "./observe-job.ts";

export interface PodDeps {
  readonly client: Pick<Client, "create" | "delete" | "patch">;
  readonly recorder: EventRecorder;
  readonly expectations: Expectations;
}

/** What was done, with the first failure. */
export interface ActedOnPods extends PodsResult {
  /** Creations that failed. */
  readonly failedCreations: number;
  readonly failure?: unknown;
}

const nothing: ActedOnPods = { created: 0, deleted: [], failedCreations: 0 };

/** Creates and deletes pods. Never rejects: a failure must not keep the sync from counting pods. */
export async function actOnPods(
  deps: PodDeps,
  { observed, plan }: { readonly observed: ObservedJob; readonly plan: PodsPlan },
  signal: AbortSignal,
): Promise<ActedOnPods> {
  switch (plan.kind) {
    case "keep":
    case "backOff":
      return nothing;
    case "create":
      return createPods(deps, { observed, indexes: plan.indexes }, signal);
    case "delete":
      return deletePods(deps, { job: observed.job, pods: plan.pods, isFinalizerKept: false }, signal);
    case "terminate":
      return deletePods(deps, { job: observed.job, pods: plan.pods, isFinalizerKept: true }, signal);
  }
}

async function createPods(
  { client, recorder, expectations }: PodDeps,
  {
    observed,
    indexes,
  }: { readonly observed: ObservedJob; readonly indexes: readonly (number | undefined)[] },
  signal: AbortSignal,
): Promise<ActedOnPods> {
  const { job } = observed;
  const key = keyOf(job);
  let created = 0;
  let failedCreations = 0;
  let failure: unknown;
  expectations.expect(key, { creations: indexes.length });
  try {
    await slowStart(indexes, async (index) => {
      const replaced = index === undefined ? undefined : observed.indexes?.awaitingReplacement.get(index);
      try {
        const { metadata } = await client.create("pods", newPod(job, { index, replaced }), { signal });
        created++;
        const message = `Created pod: ${metadata.name}`;
        recorder.record(job, { type: "Normal", reason: "SuccessfulCreate", message });
      } catch (error) {
        if (isNamespaceTerminating(error)) return;
        failedCreations++;
        const message = `Error creating: ${messageOf(error)}`;
        recorder.record(job, { type: "Warning", reason: "FailedCreate", message });
        throw error;
      }
    });
  } catch (error) {
    failure = error;
  } finally {
    for (let missing = indexes.length - created; missing > 0; missing--) expectations.creationObserved(key);
  }
  return { ...nothing, created, failedCreations, ...(failure !== undefined && { failure }) };
}

async function deletePods(
  deps: PodDeps,
  options: { readonly job: Job; readonly pods: readonly Pod[]; readonly isFinalizerKept: boolean },
  signal: AbortSignal,
): Promise<ActedOnPods> {
  const { client, recorder, expectations } = deps;
  const { job, pods, isFinalizerKept } = options;
  const key = keyOf(job);
  if (!isFinalizerKept)
    expectations.expect(key, { deletions: pods.map(({ metadata }) => metadata.uid ?? "") });
  const deleted: Pod[] = [];
  let failure: unknown;
  await Promise.all(
    pods.map(async (pod) => {
      const { namespace, name = "", uid = "" } = pod.metadata;
      try {
        if (!isFinalizerKept) await removeFinalizer(client, pod, signal);
        await client.delete("pods", { namespace, name }, { preconditions: { uid }, signal });
        deleted.push(pod);
        recorder.record(job, { type: "Normal", reason: "SuccessfulDelete", message: `Deleted pod: ${name}` });
      } catch (error) {
        expectations.deletionObserved(key, uid);
        if (isNotFound(error)) {
          deleted.push(pod);
          return;
        }
        const message = `Error deleting: ${messageOf(error)}`;
        recorder.record(job, { type: "Warning", reason: "FailedDelete", message });
        failure ??= new Error(`unable to delete pods: ${messageOf(error)}`, { cause: error });
      }
    }),
  );
  return { ...nothing, deleted, ...(failure !== undefined && { failure }) };
}

/** Removes the tracking finalizer from a pod. */
export async function removeFinalizer(
  client: Pick<Client, "patch">,
  pod: Pod,
  signal: AbortSignal,
): Promise<void> {
  if (!hasTrackingFinalizer(pod)) return;
  const { namespace, name = "", uid } = pod.metadata;
  const body = { metadata: { uid, "$deleteFromPrimitiveList/finalizers": [trackingFinalizer] } };
  await client.patch("pods", { namespace, name }, { patch: { kind: "strategic", body }, signal });
}

import { controllerReference } from "../../api/meta/object-facts.ts";
import type { KubeObject, Pod } from "../../api/meta/objects.ts";
import type { PodTemplate } from "../../api/pod/defaults/pod.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { Expectations } from "../../client/queue/expectations.ts";
import { isConflict, isNamespaceTerminating, isNotFound } from "../../client/transport/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { slowStart } from "./slow-start.ts";

interface ChangeDeps {
  readonly client: Pick<Client, "create" | "delete">;
  readonly recorder: EventRecorder;
  readonly expectations: Expectations;
}

export interface PodChange {
  readonly owner: KubeObject;
  readonly create: readonly Pod[];
  readonly delete: readonly Pod[];
}

/** Creates and deletes pods of an owner. Rejects with the first failure after all attempts have finished. */
export async function changePods(deps: ChangeDeps, change: PodChange, signal: AbortSignal): Promise<void> {
  deps.expectations.expect(keyOf(change.owner), {
    creations: change.create.length,
    deletions: change.delete.map(({ metadata }) => metadata.uid ?? ""),
  });
  const results = await Promise.allSettled([
    createPods(deps, change, signal),
    deletePods(deps, change, signal),
  ]);
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

async function createPods(
  { client, recorder, expectations }: ChangeDeps,
  { owner, create }: PodChange,
  signal: AbortSignal,
): Promise<void> {
  let created = 0;
  try {
    await slowStart(create, async (pod) => {
      try {
        const { metadata } = await client.create("pods", pod, { signal });
        created++;
        const message = `Created pod: ${metadata.name}`;
        recorder.record(owner, { type: "Normal", reason: "SuccessfulCreate", message });
      } catch (error) {
        if (isNamespaceTerminating(error)) return;
        const message = `Error creating: ${messageOf(error)}`;
        recorder.record(owner, { type: "Warning", reason: "FailedCreate", message });
        throw error;
      }
    });
  } finally {
    const key = keyOf(owner);
    for (let missing = create.length - created; missing > 0; missing--) expectations.creationObserved(key);
  }
}

async function deletePods(
  { client, recorder, expectations }: ChangeDeps,
  { owner, delete: pods }: PodChange,
  signal: AbortSignal,
): Promise<void> {
  const results = await Promise.allSettled(
    pods.map(async ({ metadata: { namespace, name = "", uid = "" } }) => {
      try {
        // The uid protects another pod that has taken this name.
        await client.delete("pods", { namespace, name }, { preconditions: { uid }, signal });
        const message = `Deleted pod: ${name}`;
        recorder.record(owner, { type: "Normal", reason: "SuccessfulDelete", message });
      } catch (error) {
        expectations.deletionObserved(keyOf(owner), uid);
        if (isNotFound(error) || isConflict(error)) return;
        const message = `Error deleting: ${messageOf(error)}`;
        recorder.record(owner, { type: "Warning", reason: "FailedDelete", message });
        throw new Error(`unable to delete pods: ${messageOf(error)}`, { cause: error });
      }
    }),
  );
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

/** Pod from the template of an owner, with a generated name. */
export function podOf(owner: KubeObject, template: PodTemplate | undefined): Pod {
  const { name = "", namespace } = owner.metadata;
  const { metadata = {}, spec } = template ?? {};
  const { labels, annotations, finalizers } = metadata;
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      generateName: `${name}-`,
      namespace,
      ...(labels && { labels }),
      ...(annotations && { annotations }),
      ...(finalizers && { finalizers }),
      ownerReferences: [controllerReference(owner)],
    },
    spec,
  };
}

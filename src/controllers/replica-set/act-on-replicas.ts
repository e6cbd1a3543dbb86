import { controllerReference } from "../../api/meta/object-facts.ts";
import type { Pod, ReplicaSet } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { Expectations } from "../../client/queue/expectations.ts";
import { isConflict, isNamespaceTerminating, isNotFound } from "../../client/transport/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { slowStart } from "../shared/slow-start.ts";
import type { ReplicasPlan } from "./decide-replica-set.ts";

interface Deps {
  readonly client: Pick<Client, "create" | "delete">;
  readonly recorder: EventRecorder;
  readonly expectations: Expectations;
}

/** Creates or deletes pods. Rejects with the first failure after all attempts have finished. */
export async function actOnReplicas(
  deps: Deps,
  { set, plan }: { readonly set: ReplicaSet; readonly plan: ReplicasPlan },
  signal: AbortSignal,
): Promise<void> {
  switch (plan.kind) {
    case "keep":
      return;
    case "create":
      return createPods(deps, { set, count: plan.count }, signal);
    case "delete":
      return deletePods(deps, { set, pods: plan.pods }, signal);
  }
}

async function createPods(
  { client, recorder, expectations }: Deps,
  { set, count }: { readonly set: ReplicaSet; readonly count: number },
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(set);
  const pod = newPod(set);
  let created = 0;
  expectations.expect(key, { creations: count });
  try {
    await slowStart(Array.from({ length: count }), async () => {
      try {
        const { metadata } = await client.create("pods", pod, { signal });
        created++;
        const message = `Created pod: ${metadata.name}`;
        recorder.record(set, { type: "Normal", reason: "SuccessfulCreate", message });
      } catch (error) {
        if (isNamespaceTerminating(error)) return;
        const message = `Error creating: ${messageOf(error)}`;
        recorder.record(set, { type: "Warning", reason: "FailedCreate", message });
        throw error;
      }
    });
  } finally {
    for (let missing = count - created; missing > 0; missing--) expectations.creationObserved(key);
  }
}

async function deletePods(
  { client, recorder, expectations }: Deps,
  { set, pods }: { readonly set: ReplicaSet; readonly pods: readonly Pod[] },
  signal: AbortSignal,
): Promise<void> {
  const key = keyOf(set);
  expectations.expect(key, { deletions: pods.map(({ metadata }) => metadata.uid ?? "") });
  const results = await Promise.allSettled(
    pods.map(async ({ metadata: { namespace, name = "", uid = "" } }) => {
      try {
        // The uid protects another pod that has taken this name.
        await client.delete("pods", { namespace, name }, { preconditions: { uid }, signal });
        recorder.record(set, { type: "Normal", reason: "SuccessfulDelete", message: `Deleted pod: ${name}` });
      } catch (error) {
        expectations.deletionObserved(key, uid);
        if (isNotFound(error) || isConflict(error)) return;
        const message = `Error deleting: ${messageOf(error)}`;
        recorder.record(set, { type: "Warning", reason: "FailedDelete", message });
        throw new Error(`unable to delete pods: ${messageOf(error)}`, { cause: error });
      }
    }),
  );
  const failed = results.find((result) => result.status === "rejected");
  if (failed) throw failed.reason;
}

function newPod(set: ReplicaSet): Pod {
  const { name = "", namespace } = set.metadata;
  const { metadata = {}, spec } = set.spec?.template ?? {};
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
      ownerReferences: [controllerReference(set)],
    },
    spec,
  };
}

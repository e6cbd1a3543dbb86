import { controllerOf, controllerReference } from "../../api/meta/object-facts.ts";
import type { Pod, ReplicaSet } from "../../api/meta/objects.ts";
import { hasEnded, isTerminating } from "../../api/pod/pod-state.ts";
import type { Client } from "../../client/api/client.ts";
import type { EventRecorder } from "../../client/events/event-recorder.ts";
import type { Change } from "../../client/informers/informer.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import { createExpectations, type Expectations } from "../../client/queue/expectations.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isConflict, isNamespaceTerminating, isNotFound } from "../../client/transport/status-errors.ts";
import { messageOf } from "../../lib/message-of.ts";
import { orphanedIn } from "../shared/informers.ts";
import { claimObjects, decideClaim, ownerOf, selects } from "../shared/ownership.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import { slowStart } from "../shared/slow-start.ts";
import { decideReplicas, decideStatus, type ReplicasPlan } from "./decide-replica-set.ts";

/** Runs the ReplicaSet controller until the signal aborts. */
export function runReplicaSetController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const recorder = context.recorder("replicaset-controller");
  const sets = informers.of("replicasets");
  const pods = informers.of("pods");
  const expectations = createExpectations({ clock });

  function watch(queue: Pick<WorkQueue, "add">): void {
    sets.onChange(({ kind, object }) => {
      // A new ReplicaSet of the same name starts without expectations.
      if (kind === "deleted") expectations.forget(keyOf(object));
      queue.add(keyOf(object));
    });
    pods.onChange((change) => {
      for (const pod of affectedPods(change)) {
        for (const set of setsOf(pod)) {
          observe(keyOf(set), change);
          queue.add(keyOf(set));
        }
      }
    });
  }

  function setsOf(pod: Pod): readonly ReplicaSet[] {
    if (controllerOf(pod)) {
      const owner = ownerOf(pod, "ReplicaSet", sets);
      return owner ? [owner] : [];
    }
    return sets.byIndex("namespace", pod.metadata.namespace ?? "").filter((set) => selects(set, pod));
  }

  function observe(key: string, { kind, object }: Change<Pod>): void {
    const gone = kind === "deleted" || isTerminating(object);
    if (gone) expectations.deletionObserved(key, object.metadata.uid ?? "");
    // A pod that is first observed while it terminates was created nevertheless.
    if (kind === "added" && controllerOf(object)) expectations.creationObserved(key);
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const set = sets.get(key);
    if (!set) return undefined;
    const { active, terminating } = await ownPods(set);
    let failure: unknown;
    if (expectations.satisfied(key)) {
      const plan = decideReplicas({ set, active, related: () => relatedPods(set, active), now: clock.now() });
      try {
        await actOnReplicas({ client, recorder, expectations }, { set, plan }, signal);
      } catch (error) {
        failure = error;
      }
    }
    const decision = decideStatus({
      set,
      active,
      terminating,
      ...(failure instanceof Error && { failure: failure.message }),
      now: clock.now(),
    });
    if (decision.status) await writeStatus({ ...set, status: decision.status });
    if (failure) throw failure;
    return decision.requeueAfterMs === undefined ? undefined : { requeueAfterMs: decision.requeueAfterMs };
  }

  async function ownPods(set: ReplicaSet) {
    const { namespace = "", uid = "" } = set.metadata;
    const own = pods.byIndex("controller", uid);
    const candidates = [...own, ...pods.byIndex("controller", orphanedIn(namespace))].filter(isActive);
    const claim = decideClaim(set, candidates, (pod) => selects(set, pod));
    const active = await claimObjects({
      client,
      resource: "pods",
      ownerResource: "replicasets",
      owner: set,
      claim,
      signal,
    });
    const terminating = own.filter((pod) => isTerminating(pod) && !hasEnded(pod) && selects(set, pod));
    return { active, terminating };
  }

  /** Active pods of all ReplicaSets of a Deployment, by which pods on crowded nodes are deleted first. */
  function relatedPods(set: ReplicaSet, own: readonly Pod[]): readonly Pod[] {
    const owner = controllerOf(set);
    if (!owner) return own;
    return sets
      .byIndex("controller", owner.uid)
      .flatMap(({ metadata }) => pods.byIndex("controller", metadata.uid ?? ""))
      .filter(isActive);
  }

  async function writeStatus(set: ReplicaSet): Promise<void> {
    try {
      await client.update("replicasets", set, { subresource: "status", signal });
    } catch (error) {
      if (!isConflict(error)) throw error;
    }
  }

  return runController(context, { name: "replicaset", watch, reconcile }, signal);
}

function isActive(pod: Pod): boolean {
  return !hasEnded(pod) && !isTerminating(pod);
}

/** A changed owner affects the previous owner too. */
function affectedPods(change: Change<Pod>): readonly Pod[] {
  if (change.kind !== "changed") return [change.object];
  const ownerChanged = controllerOf(change.previous)?.uid !== controllerOf(change.object)?.uid;
  return ownerChanged ? [change.previous, change.object] : [change.object];
}

interface Deps {
  readonly client: Pick<Client, "create" | "delete">;
  readonly recorder: EventRecorder;
  readonly expectations: Expectations;
}

/** Creates or deletes pods. Rejects with the first failure after all attempts have finished. */
async function actOnReplicas(
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

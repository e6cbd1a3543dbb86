import { controllerOf } from "../../api/meta/object-facts.ts";
import type { Pod, ReplicaSet } from "../../api/meta/objects.ts";
import { hasEnded, isTerminating } from "../../api/pod/pod-state.ts";
import type { Change } from "../../client/informers/informer.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import { createExpectations } from "../../client/queue/expectations.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isConflict } from "../../client/transport/status-errors.ts";
import { changePods, type PodChange, podOf } from "../shared/change-pods.ts";
import { orphanedIn } from "../shared/informers.ts";
import { claimObjects, decideClaim, ownerOf, selects } from "../shared/ownership.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
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
        const change = changeOf(set, plan);
        if (change) await changePods({ client, recorder, expectations }, { owner: set, ...change }, signal);
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

function changeOf(set: ReplicaSet, plan: ReplicasPlan): Pick<PodChange, "create" | "delete"> | undefined {
  switch (plan.kind) {
    case "keep":
      return undefined;
    case "create":
      return { create: Array.from({ length: plan.count }, () => podOf(set, set.spec?.template)), delete: [] };
    case "delete":
      return { create: [], delete: plan.pods };
  }
}

import { isEqual } from "../../api/meta/is-equal.ts";
import { conditionOf, controllerOf } from "../../api/meta/object-facts.ts";
import type { Pod, PodDisruptionBudget } from "../../api/meta/objects.ts";
import { formatLabelSelector, labelSelectorOf, matchesLabels } from "../../api/meta/selector.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import type { Informers } from "../shared/informers.ts";
import { ownerOf } from "../shared/ownership.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import {
  type DisruptionDecision,
  decideDisruption,
  decideStaleTarget,
  type Scale,
} from "./decide-disruption.ts";

/** Requeue delay while the controller of a pod is not in the cache yet. */
const unknownControllerRequeueMs = 10_000;

/** Updates the status of PodDisruptionBudgets and clears stale DisruptionTarget conditions until the signal aborts. */
export async function runDisruptionController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  await Promise.all([runBudgets(context, signal), runStaleTargets(context, signal)]);
}

function runBudgets(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const recorder = context.recorder("controllermanager");
  const budgets = informers.of("poddisruptionbudgets");
  const pods = informers.of("pods");
  const scaleOf = createScaleFinder(informers);

  function watch(queue: Pick<WorkQueue, "add">): void {
    budgets.onChange(({ object }) => queue.add(keyOf(object)));
    pods.onChange((change) => {
      const relabeled =
        change.kind === "changed" && !isEqual(change.previous.metadata.labels, change.object.metadata.labels);
      for (const pod of relabeled ? [change.previous, change.object] : [change.object]) {
        for (const budget of budgets.byIndex("namespace", pod.metadata.namespace ?? "")) {
          if (selects(budget, pod)) queue.add(keyOf(budget));
        }
      }
    });
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const budget = budgets.get(key);
    if (!budget) return undefined;
    const own = pods
      .byIndex("namespace", budget.metadata.namespace ?? "")
      .filter((pod) => selects(budget, pod));
    const decision = decideDisruption({ budget, pods: own, scaleOf, now: clock.now() });
    if (decision.status) {
      recordEvents(budget, own, decision);
      try {
        const next = { ...budget, status: decision.status };
        await client.update("poddisruptionbudgets", next, { subresource: "status", signal });
      } catch (error) {
        // An eviction was granted meanwhile, or the budget was deleted.
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    }
    if (decision.failure) return { requeueAfterMs: unknownControllerRequeueMs };
    return decision.requeueAfterMs === undefined ? undefined : { requeueAfterMs: decision.requeueAfterMs };
  }

  /** Called only when the status changes: an event per sync would cost a write each time. */
  function recordEvents(
    budget: PodDisruptionBudget,
    own: readonly Pod[],
    decision: DisruptionDecision,
  ): void {
    const { failure, unmanaged, notDeleted } = decision;
    if (own.length === 0) {
      recorder.record(budget, { type: "Normal", reason: "NoPods", message: "No matching pods found" });
    }
    if (failure) {
      const message = `Failed to calculate the number of expected pods: ${failure}`;
      recorder.record(budget, { type: "Warning", reason: "CalculateExpectedPodCountFailed", message });
    }
    if (unmanaged) {
      recorder.record(budget, { type: "Warning", reason: "UnmanagedPods", message: unmanagedText(budget) });
    }
    const { namespace, name } = budget.metadata;
    for (const pod of notDeleted) {
      const message = `Pod was expected by PDB ${namespace}/${name} to be deleted but it wasn't`;
      recorder.record(pod, { type: "Warning", reason: "NotDeleted", message });
    }
  }

  return runController(context, { name: "disruption", watch, reconcile }, signal);
}

function runStaleTargets(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const pods = informers.of("pods");

  function watch(queue: Pick<WorkQueue, "add">): void {
    pods.onChange(({ kind, object }) => {
      if (kind !== "deleted" && conditionOf(object, "DisruptionTarget")?.status === "True") {
        queue.add(keyOf(object));
      }
    });
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const pod = pods.get(key);
    if (!pod) return undefined;
    const stale = decideStaleTarget(pod, clock.now());
    if (stale.kind === "wait") return { requeueAfterMs: stale.requeueAfterMs };
    if (stale.kind === "none") return undefined;
    const { namespace, name = "", uid, resourceVersion } = pod.metadata;
    const body = { metadata: { uid, resourceVersion }, status: { conditions: [stale.condition] } };
    try {
      const patch = { kind: "strategic", body } as const;
      await client.patch("pods", { namespace, name }, { patch, subresource: "status", signal });
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    }
    return undefined;
  }

  return runController(context, { name: "stale-disruptions", watch, reconcile }, signal);
}

function selects({ spec }: PodDisruptionBudget, { metadata }: Pod): boolean {
  const selector = labelSelectorOf(spec?.selector);
  return selector !== undefined && matchesLabels(selector, metadata.labels);
}

function unmanagedText({ spec }: PodDisruptionBudget): string {
  const selector = formatLabelSelector(labelSelectorOf(spec?.selector) ?? []);
  return (
    `Pods selected by this PodDisruptionBudget (selector: ${selector}) were found to be unmanaged. As a result, the ` +
    "status of the PDB cannot be calculated correctly, which may result in undefined behavior. To account for these " +
    'pods please set ".spec.minAvailable" field of the PDB to an integer value.'
  );
}

/** Finds the replicas of a pod's controller: the Deployment if a ReplicaSet belongs to one. */
function createScaleFinder(informers: Informers): (pod: Pod) => Scale | "none" | undefined {
  const deployments = informers.of("deployments");
  const replicaSets = informers.of("replicasets");
  const statefulSets = informers.of("statefulsets");

  return (pod) => {
    if (!controllerOf(pod)) return "none";
    const replicaSet = ownerOf(pod, "ReplicaSet", replicaSets);
    const owner = replicaSet
      ? controllerOf(replicaSet)?.kind === "Deployment"
        ? ownerOf(replicaSet, "Deployment", deployments)
        : replicaSet
      : ownerOf(pod, "StatefulSet", statefulSets);
    return owner && { uid: owner.metadata.uid ?? "", replicas: owner.spec?.replicas ?? 1 };
  };
}

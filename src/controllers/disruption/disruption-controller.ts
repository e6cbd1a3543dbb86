import { conditionOf } from "../../api/conditions.ts";
import { isEqual } from "../../api/is-equal.ts";
import type { Pod, PodDisruptionBudget } from "../../api/objects.ts";
import { formatLabelSelector, labelSelectorOf, matchesLabels } from "../../api/selector.ts";
import { keyOf } from "../../client/object-key.ts";
import { isConflict, isNotFound } from "../../client/status-errors.ts";
import type { WorkQueue } from "../../client/work-queue.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import { type DisruptionDecision, decideDisruption } from "./decide-disruption.ts";
import { decideStaleTarget } from "./decide-stale-target.ts";
import { createScaleFinder } from "./find-scale.ts";

/** After this long, whoever is in charge of the pods may have come to be seen. */
const unknownAgainMs = 10_000;

/** Counts for each PodDisruptionBudget how many pods may be evicted, until the signal aborts. */
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
      say(budget, own, decision);
      try {
        const next = { ...budget, status: decision.status };
        await client.update("poddisruptionbudgets", next, { subresource: "status", signal });
      } catch (error) {
        // An eviction was let through meanwhile, or it is gone.
        if (!isConflict(error) && !isNotFound(error)) throw error;
      }
    }
    if (decision.failure) return { againAfterMs: unknownAgainMs };
    return decision.againAfterMs === undefined ? undefined : { againAfterMs: decision.againAfterMs };
  }

  /** Only with news: what is said at every look would cost a write each time. */
  function say(budget: PodDisruptionBudget, own: readonly Pod[], decision: DisruptionDecision): void {
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
    if (stale.kind === "wait") return { againAfterMs: stale.againAfterMs };
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

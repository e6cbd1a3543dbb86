import { isEqual } from "../../api/meta/is-equal.ts";
import type { KubeObject, ResourceQuota } from "../../api/meta/objects.ts";
import { countNameOf, type Evaluator, evaluatorOf } from "../../api/quota/evaluators.ts";
import { scopeRequirementsOf } from "../../api/quota/scopes.ts";
import { count, isEqualUsage, type Usage, zero } from "../../api/quota/usage.ts";
import { resourceNamed, resourceNames } from "../../client/api/resource-path.ts";
import type { Change, Informer } from "../../client/informers/informer.ts";
import { keyOf } from "../../client/informers/object-cache.ts";
import type { WorkQueue } from "../../client/queue/work-queue.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import { watchOtherResources } from "../shared/watch-other-resources.ts";
import { measureUsage, planQuotaStatus } from "./plan-quota-status.ts";

/** Time after which the objects that a version of a quota was charged for are observed, or were not stored. */
const settleMs = 1_000;
/** Interval of full recalculations, as upstream. */
const resyncMs = 300_000;

interface Measured {
  readonly evaluator: Evaluator;
  readonly informer: Informer<KubeObject>;
}

/**
 * Keeps `status.used` of quotas equal to what the objects of their namespaces use, until the signal aborts. Usage falls
 * only here: after deletions, after changes, and for writes that failed after admission had charged them.
 */
export async function runResourceQuotaController(
  context: ControllerContext,
  signal: AbortSignal,
): Promise<void> {
  const { client, clock, informers } = context;
  const quotas = informers.of("resourcequotas");
  const measured = resourceNames.flatMap((name): Measured[] => {
    const resource = resourceNamed(name);
    const evaluator = resource.namespaced ? evaluatorOf(resource) : undefined;
    return evaluator ? [{ evaluator, informer: informers.of(name) }] : [];
  });
  /** Number of custom resources by quota name and namespace, once all of them are known. */
  const customCounts = new Map<string, Map<string, number>>();
  const syncedCounts = new Set<string>();
  /** The version of each quota, and when it was first observed. */
  const observed = new Map<string, { readonly version: string; readonly at: number }>();

  function customUsage(quota: ResourceQuota): Usage {
    const namespace = quota.metadata.namespace ?? "";
    const names = Object.keys(quota.spec?.hard ?? {}).filter((name) => syncedCounts.has(name));
    // Custom resources match no scope.
    const isScoped = scopeRequirementsOf(quota).length > 0;
    return new Map(
      names.map((name) => [name, isScoped ? zero : count(customCounts.get(name)?.get(namespace) ?? 0)]),
    );
  }

  function usageOf(quota: ResourceQuota): Usage {
    const namespace = quota.metadata.namespace ?? "";
    const usages = measured.flatMap(({ evaluator, informer }) => [
      ...measureUsage(quota, {
        evaluator,
        objects: informer.byIndex("namespace", namespace),
        now: clock.now(),
      }),
    ]);
    return new Map([...usages, ...customUsage(quota)]);
  }

  function isMeasured(name: string): boolean {
    return syncedCounts.has(name) || measured.some(({ evaluator }) => evaluator.measures(name));
  }

  /** Whether every limit is in force. */
  function isComplete({ spec, status }: ResourceQuota): boolean {
    const names = Object.keys(spec?.hard ?? {});
    return (
      isEqual(spec?.hard ?? {}, status?.hard) &&
      names.every((name) => status?.used?.[name] !== undefined || !isMeasured(name))
    );
  }

  function msUntilSettled(key: string, version = ""): number {
    const known = observed.get(key);
    const at = known?.version === version ? known.at : clock.now();
    observed.set(key, { version, at });
    return at + settleMs - clock.now();
  }

  async function reconcile(key: string): Promise<Reconciled> {
    const quota = quotas.get(key);
    if (!quota) {
      observed.delete(key);
      return undefined;
    }
    const remainingMs = msUntilSettled(key, quota.metadata.resourceVersion);
    const isSettled = remainingMs <= 0;
    if (!isSettled && isComplete(quota)) return { requeueAfterMs: remainingMs };
    const status = planQuotaStatus(quota, { usage: usageOf(quota), isSettled });
    try {
      if (status)
        await client.update("resourcequotas", { ...quota, status }, { subresource: "status", signal });
    } catch (error) {
      // A write was charged or the quota was deleted: the informer reports it.
      if (!isConflict(error) && !isNotFound(error)) throw error;
      return { requeueAfterMs: settleMs };
    }
    return { requeueAfterMs: resyncMs };
  }

  function enqueueQuotasOf(namespace: string, measures: (name: string) => boolean, queue: Queue): void {
    for (const quota of quotas.byIndex("namespace", namespace))
      if (Object.keys(quota.spec?.hard ?? {}).some(measures)) queue.add(keyOf(quota));
  }

  function watchBuiltIn({ evaluator, informer }: Measured, queue: Queue): void {
    informer.onChange((change) => {
      const { namespace = "" } = change.object.metadata;
      if (quotas.byIndex("namespace", namespace).length === 0) return;
      if (mayChangeUsage(evaluator, change, clock.now()))
        enqueueQuotasOf(namespace, evaluator.measures, queue);
    });
  }

  let others: Promise<void> | undefined;
  function watch(queue: Queue): void {
    quotas.onChange(({ object }) => queue.add(keyOf(object)));
    for (const each of measured) watchBuiltIn(each, queue);
    const logger = context.logger.component("resourcequota");
    others = watchOtherResources(
      {
        client,
        clock,
        logger,
        onChange(resource, { kind, object }) {
          if (!resource.namespaced || kind === "changed") return;
          const { namespace = "" } = object.metadata;
          const name = countNameOf(resource);
          const counts = customCounts.get(name) ?? new Map<string, number>();
          customCounts.set(name, counts);
          const next = (counts.get(namespace) ?? 0) + (kind === "added" ? 1 : -1);
          if (next > 0) counts.set(namespace, next);
          else counts.delete(namespace);
          enqueueQuotasOf(namespace, (each) => each === name, queue);
        },
        onSynced(resource) {
          if (!resource.namespaced) return;
          const name = countNameOf(resource);
          syncedCounts.add(name);
          for (const quota of quotas.list()) if (quota.spec?.hard?.[name]) queue.add(keyOf(quota));
        },
      },
      signal,
    );
  }

  await runController(context, { name: "resourcequota", watch, reconcile }, signal);
  await others;
}

type Queue = Pick<WorkQueue, "add">;

/** Whether a change of an object may change what it uses, or for which quotas it counts. */
function mayChangeUsage(evaluator: Evaluator, change: Change<KubeObject>, now: number): boolean {
  if (change.kind !== "changed") return true;
  const { object, previous: current } = change;
  const write = { operation: "update", subresource: "", object, current } as const;
  return (
    evaluator.handles(write) || !isEqualUsage(evaluator.usage(object, now), evaluator.usage(current, now))
  );
}

import type * as k8s from "@kubernetes/client-node";
import type { Namespace, Wire } from "../../api/meta/objects.ts";
import { formatTime } from "../../api/meta/time.ts";
import type { Client } from "../../client/api/client.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import { type ControllerContext, type Reconciled, runController } from "../shared/run-controller.ts";
import { type Attempt, type Emptying, emptyNamespace } from "./empty-namespace.ts";

const kubernetesFinalizer = "kubernetes";

/**
 * Time that API servers may take to observe that a namespace terminates; until then they accept new objects. A
 * namespace that was found empty is checked again after it. (Upstream waits for 5 s before it starts.)
 */
const observationDelayMs = 250;

/** Resources whose last deletion requeues the namespace. */
const requeueOnLastDeletion = ["pods", "persistentvolumeclaims"] as const;

/** Runs the namespace controller, which empties and finalizes terminating namespaces, until the signal aborts. */
export async function runNamespaceController(context: ControllerContext, signal: AbortSignal): Promise<void> {
  const { client, clock, informers } = context;
  const logger = context.logger.component("namespace");
  const namespaces = informers.of("namespaces");

  const empty = (name: string, deletedAt: string) =>
    emptyNamespace({ client, clock, namespace: name, deletedAtMs: Date.parse(deletedAt), signal });

  async function reconcile(name: string): Promise<Reconciled> {
    const namespace = namespaces.get(name);
    const deletedAt = namespace?.metadata.deletionTimestamp;
    if (!deletedAt || !namespace.spec?.finalizers?.includes(kubernetesFinalizer)) return undefined;
    let attempt = await empty(name, deletedAt);
    if (isEmpty(attempt)) {
      await clock.sleep(observationDelayMs, signal);
      attempt = await empty(name, deletedAt);
    }
    const updated = await writeConditions(client, namespace, { attempt, now: clock.now(), signal }).catch(
      (error) => {
        if (!isConflict(error) && !isNotFound(error)) throw error;
        return undefined;
      },
    );
    // A concurrent change of the namespace requeues it.
    if (!updated) return undefined;
    const failures = [attempt.discoveryError ?? [], attempt.deletionErrors].flat();
    if (failures.length > 0) throw new Error(failures.join(", "));
    if (attempt.estimateSeconds > 0) {
      logger.debug("some content remains", { namespace: name, estimateSeconds: attempt.estimateSeconds });
      return { requeueAfterMs: (Math.floor(attempt.estimateSeconds / 2) + 1) * 1_000 };
    }
    await finalize(client, updated, signal);
    return undefined;
  }

  await runController(
    context,
    {
      name: "namespace",
      concurrency: 10,
      watch(queue) {
        namespaces.onChange(({ kind, object: { metadata } }) => {
          if (kind !== "deleted" && metadata.deletionTimestamp) queue.add(metadata.name ?? "");
        });
        for (const resource of requeueOnLastDeletion) {
          const informer = informers.of(resource);
          informer.onChange(({ kind, object: { metadata } }) => {
            const { namespace = "" } = metadata;
            if (kind !== "deleted" || !namespaces.get(namespace)?.metadata.deletionTimestamp) return;
            if (informer.byIndex("namespace", namespace).length === 0) queue.add(namespace);
          });
        }
      },
      reconcile,
    },
    signal,
  );
}

function isEmpty({ discoveryError, deletionErrors, estimateSeconds }: Attempt): boolean {
  return discoveryError === undefined && deletionErrors.length === 0 && estimateSeconds === 0;
}

/** Writes the conditions. Returns the updated namespace. */
async function writeConditions(
  client: Client,
  namespace: Namespace,
  { attempt, now, signal }: { attempt: Attempt; now: number; signal: AbortSignal },
): Promise<Namespace> {
  const current = namespace.status?.conditions ?? [];
  const conditions = namespaceConditions(current, attempt, formatTime(now));
  if (conditions === current) return namespace;
  const status = { ...namespace.status, phase: "Terminating", conditions: [...conditions] };
  return client.update("namespaces", { ...namespace, status }, { subresource: "status", signal });
}

async function finalize(client: Client, namespace: Namespace, signal: AbortSignal): Promise<void> {
  const finalizers = namespace.spec?.finalizers?.filter((name) => name !== kubernetesFinalizer) ?? [];
  try {
    await client.update(
      "namespaces",
      { ...namespace, spec: { ...namespace.spec, finalizers } },
      { subresource: "finalize", signal },
    );
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

export type NamespaceCondition = Wire<k8s.V1NamespaceCondition>;

const good = {
  NamespaceDeletionDiscoveryFailure: ["ResourcesDiscovered", "All resources successfully discovered"],
  NamespaceDeletionGroupVersionParsingFailure: [
    "ParsedGroupVersions",
    "All legacy kube types successfully parsed",
  ],
  NamespaceDeletionContentFailure: [
    "ContentDeleted",
    "All content successfully deleted, may be waiting on finalization",
  ],
  NamespaceContentRemaining: ["ContentRemoved", "All content successfully removed"],
  NamespaceFinalizersRemaining: ["ContentHasNoFinalizers", "All content-preserving finalizers finished"],
} as const;

type ConditionType = keyof typeof good;

/** Conditions of a namespace after an attempt to empty it. Returns `current` if nothing changes. */
export function namespaceConditions(
  current: readonly NamespaceCondition[],
  emptying: Emptying,
  now: string,
): readonly NamespaceCondition[] {
  const bad = badConditions(emptying);
  const next = [...current];
  for (const type of Object.keys(good) as ConditionType[]) {
    const [reason, message] = bad[type] ?? good[type];
    const status = bad[type] ? "True" : "False";
    const at = next.findIndex((condition) => condition.type === type);
    const before = next[at];
    if (before?.status === status && before.reason === reason && before.message === message) continue;
    const lastTransitionTime = before?.status === status ? before.lastTransitionTime : now;
    const condition = { type, status, lastTransitionTime, reason, message };
    if (before) next[at] = condition;
    else next.push(condition);
  }
  return next.length === current.length && next.every((condition, i) => condition === current[i])
    ? current
    : next;
}

function badConditions(emptying: Emptying): Partial<Record<ConditionType, readonly [string, string]>> {
  const { discoveryError, deletionErrors, remaining, finalizers } = emptying;
  const bad: Partial<Record<ConditionType, readonly [string, string]>> = {};
  if (discoveryError !== undefined) {
    bad.NamespaceDeletionDiscoveryFailure = ["DiscoveryFailed", discoveryError];
  }
  if (deletionErrors.length > 0) {
    const count = `Failed to delete all resource types, ${deletionErrors.length} remaining`;
    bad.NamespaceDeletionContentFailure = [
      "ContentDeletionFailed",
      `${count}: ${[...deletionErrors].sort().join(", ")}`,
    ];
  }
  if (remaining.size > 0) {
    const each = [...remaining].map(([kind, count]) => `${kind} has ${count} resource instances`).sort();
    bad.NamespaceContentRemaining = [
      "SomeResourcesRemain",
      `Some resources are remaining: ${each.join(", ")}`,
    ];
  }
  if (finalizers.size > 0) {
    const each = [...finalizers].map(([name, count]) => `${name} in ${count} resource instances`).sort();
    const message = `Some content in the namespace has finalizers remaining: ${each.join(", ")}`;
    bad.NamespaceFinalizersRemaining = ["SomeFinalizersRemain", message];
  }
  return bad;
}

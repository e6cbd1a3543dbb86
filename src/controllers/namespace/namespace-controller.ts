import { formatTime } from "../../api/format-time.ts";
import type { Namespace } from "../../api/objects.ts";
import type { Client } from "../../client/client.ts";
import { isConflict, isNotFound } from "../../client/status-errors.ts";
import { type ControllerContext, type Reconciled, runController } from "../run-controller.ts";
import { type Attempt, emptyNamespace } from "./empty-namespace.ts";
import { namespaceConditions } from "./namespace-conditions.ts";

const kubernetesFinalizer = "kubernetes";

/**
 * How long an API server may take to hear that a namespace goes: until then it lets new objects in. A namespace that
 * was found empty is looked at once more after that. (Upstream waits for 5 s before it begins.)
 */
const hearsayMs = 250;

/** Kinds that people wait for: the last one of them in a namespace wakes its controller. */
const awaited = ["pods", "persistentvolumeclaims"] as const;

/** Empties namespaces that are being deleted, then lets them go. */
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
      await clock.sleep(hearsayMs, signal);
      attempt = await empty(name, deletedAt);
    }
    const told = await tell(client, namespace, { attempt, now: clock.now(), signal }).catch((error) => {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      return undefined;
    });
    // Somebody else changes the namespace too: that change comes back here.
    if (!told) return undefined;
    const failures = [attempt.discoveryError ?? [], attempt.deletionErrors].flat();
    if (failures.length > 0) throw new Error(failures.join(", "));
    if (attempt.estimateSeconds > 0) {
      logger.debug("some content remains", { namespace: name, estimateSeconds: attempt.estimateSeconds });
      return { againAfterMs: (Math.floor(attempt.estimateSeconds / 2) + 1) * 1_000 };
    }
    await finalize(client, told, signal);
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
        for (const resource of awaited) {
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

/** Writes down how far it has come; answers with the namespace as it is then. */
async function tell(
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

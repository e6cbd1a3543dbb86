// Clauses: 3085-14
import type { PersistentVolumeClaim, Pod } from "../../src/api/meta/objects.ts";
import { StatusError } from "../../src/api/meta/status-error.ts";
import type { Client } from "../../src/client/api/client.ts";
import { createInformer } from "../../src/client/informers/informer.ts";
import { createWorkQueue } from "../../src/client/queue/work-queue.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { Logger } from "../../src/lib/logger.ts";
import { decideRemedy, type Reached, reachedAnnotation } from "./decide-remedy.ts";

export interface RecreateClaimOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Defaults to all namespaces. */
  readonly namespace?: string;
  /** Pods to manage. Claims are deleted only if they have these labels too. */
  readonly labelSelector: string;
  /** Time that a pod may take from scheduling to ready. */
  readonly timeoutMs: number;
}

/**
 * Story 2 of KEP-3085: recreates pods that do not start, until the signal aborts. If the sandbox never became ready, the
 * claims are deleted with the pod and their owner recreates both; otherwise the data is kept.
 */
export async function runRecreateClaim(options: RecreateClaimOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, logger, namespace, labelSelector, timeoutMs } = options;
  const watched = { client, clock, logger, namespace, labelSelector };
  const pods = createInformer({ ...watched, resource: "pods" });
  const claims = createInformer({ ...watched, resource: "persistentvolumeclaims" });
  const queue = createWorkQueue({
    clock,
    onFailure: (key, error) => logger.warn("reconciling failed; requeued with back-off", { pod: key, error }),
  });
  pods.onChange((change) => queue.add(keyOf(change.object)));

  function claimsOf(pod: Pod): PersistentVolumeClaim[] {
    const names = (pod.spec?.volumes ?? []).flatMap(
      (volume) => volume.persistentVolumeClaim?.claimName ?? [],
    );
    return names.flatMap((name) => claims.get(`${pod.metadata.namespace}/${name}`) ?? []);
  }

  async function reconcile(key: string): Promise<void> {
    const pod = pods.get(key);
    if (!pod) return;
    const remedy = decideRemedy({ pod, claims: claimsOf(pod), now: clock.now(), timeoutMs });
    switch (remedy.kind) {
      case "leave":
        return;
      case "mark":
        return mark(pod, remedy.reached);
      case "waitUntil":
        return queue.addAfter(key, remedy.atMs - clock.now());
      case "recreateClaims":
        logger.info("deleting the claims and the pod", { pod: key, reason: remedy.reason });
        // Claims first: they exist until no pod uses them, but a new pod cannot bind a claim that is being deleted.
        for (const claim of remedy.claims) await remove("persistentvolumeclaims", claim);
        return remove("pods", pod);
      case "recreatePod":
        logger.info("deleting the pod", { pod: key, reason: remedy.reason });
        return remove("pods", pod);
    }
  }

  async function mark({ metadata }: Pod, reached: Reached): Promise<void> {
    const { namespace: of, name = "", uid } = metadata;
    // The uid protects another pod of the same name.
    const body = { metadata: { uid, annotations: { [reachedAnnotation]: reached } } };
    await client
      .patch("pods", { namespace: of, name }, { patch: { kind: "merge", body }, signal })
      .catch(ignoreDeleted);
  }

  /** Deletes this object, but not another one of the same name. */
  async function remove(
    resource: "pods" | "persistentvolumeclaims",
    { metadata: { namespace: of, name = "", uid } }: Pod | PersistentVolumeClaim,
  ): Promise<void> {
    await client
      .delete(resource, { namespace: of, name }, { preconditions: { uid }, signal })
      .catch(ignoreDeleted);
  }

  await Promise.all([
    pods.run(signal),
    claims.run(signal),
    Promise.all([pods.synced, claims.synced]).then(
      () => queue.run(signal, 1, reconcile),
      () => {},
    ),
  ]);
}

/** NotFound: it was deleted. Conflict: another object has its name. */
function ignoreDeleted(error: unknown): void {
  if (!(error instanceof StatusError) || (error.code !== 404 && error.code !== 409)) throw error;
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

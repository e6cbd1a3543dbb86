import type { PersistentVolumeClaim, Pod } from "../../src/api/objects.ts";
import { StatusError } from "../../src/api/status-error.ts";
import type { Client } from "../../src/client/client.ts";
import { createInformer } from "../../src/client/informer.ts";
import { createWorkQueue } from "../../src/client/work-queue.ts";
import type { Clock } from "../../src/lib/clock.ts";
import type { Logger } from "../../src/lib/logger.ts";
import { decideRemedy, type Reached, reachedAnnotation } from "./decide-remedy.ts";

export interface RecreateClaimOptions {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** All of them unless told. */
  readonly namespace?: string;
  /** Which pods to look after. Claims are deleted only if they have these labels too. */
  readonly labelSelector: string;
  /** How long a pod may take from its scheduling until it is ready. */
  readonly patienceMs: number;
}

/**
 * Story 2 of KEP-3085: gets pods that do not start going again, until the signal aborts. Where the sandbox never
 * became ready the claim goes with the pod, and their owner makes both anew; otherwise the data stays.
 */
export async function runRecreateClaim(options: RecreateClaimOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, logger, namespace, labelSelector, patienceMs } = options;
  const watched = { client, clock, logger, namespace, labelSelector };
  const pods = createInformer({ ...watched, resource: "pods" });
  const claims = createInformer({ ...watched, resource: "persistentvolumeclaims" });
  const queue = createWorkQueue({
    clock,
    onFailure: (key, error) => logger.warn("could not help, trying again", { pod: key, error }),
  });
  pods.onChange((change) => queue.add(keyOf(change.object)));

  function claimsOf(pod: Pod): PersistentVolumeClaim[] {
    const names = (pod.spec?.volumes ?? []).flatMap(
      (volume) => volume.persistentVolumeClaim?.claimName ?? [],
    );
    return names.flatMap((name) => claims.get(`${pod.metadata.namespace}/${name}`) ?? []);
  }

  async function help(key: string): Promise<void> {
    const pod = pods.get(key);
    if (!pod) return;
    const remedy = decideRemedy({ pod, claims: claimsOf(pod), now: clock.now(), patienceMs });
    switch (remedy.kind) {
      case "leave":
        return;
      case "mark":
        return mark(pod, remedy.reached);
      case "waitUntil":
        return queue.addAfter(key, remedy.atMs - clock.now());
      case "recreateClaims":
        logger.info("deleting the claims and the pod", { pod: key, reason: remedy.reason });
        // Claims first: they stay until no pod uses them, and are on their way out before a new pod asks for them.
        for (const claim of remedy.claims) await remove("persistentvolumeclaims", claim);
        return remove("pods", pod);
      case "recreatePod":
        logger.info("deleting the pod", { pod: key, reason: remedy.reason });
        return remove("pods", pod);
    }
  }

  async function mark({ metadata }: Pod, reached: Reached): Promise<void> {
    const { namespace: of, name = "", uid } = metadata;
    // With its uid: not another pod of the same name.
    const body = { metadata: { uid, annotations: { [reachedAnnotation]: reached } } };
    await client
      .patch("pods", { namespace: of, name }, { patch: { kind: "merge", body }, signal })
      .catch(ignoreGone);
  }

  /** Exactly this one: not what has taken its name in the meantime. */
  async function remove(
    resource: "pods" | "persistentvolumeclaims",
    { metadata: { namespace: of, name = "", uid } }: Pod | PersistentVolumeClaim,
  ): Promise<void> {
    await client
      .delete(resource, { namespace: of, name }, { preconditions: { uid }, signal })
      .catch(ignoreGone);
  }

  await Promise.all([
    pods.run(signal),
    claims.run(signal),
    Promise.all([pods.synced, claims.synced]).then(
      () => queue.run(signal, 1, help),
      () => {},
    ),
  ]);
}

/** Not found: it is gone. Conflict: what has its name is another one. */
function ignoreGone(error: unknown): void {
  if (!(error instanceof StatusError) || (error.code !== 404 && error.code !== 409)) throw error;
}

function keyOf({ metadata }: Pod): string {
  return `${metadata.namespace}/${metadata.name}`;
}

import type { Lease, Node } from "../../api/meta/objects.ts";
import { formatMicroTime } from "../../api/meta/time.ts";
import type { Client } from "../../client/api/client.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import { type BackoffPolicy, retry } from "../../lib/backoff.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";

export interface NodeLeaseOptions {
  readonly client: Pick<Client, "create" | "get" | "update">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly nodeName: string;
  /** Node that owns the lease. Undefined until it is registered. */
  readonly node: () => Node | undefined;
  readonly leaseDurationSeconds: number;
}

const namespace = "kube-node-lease";
const retryPolicy: BackoffPolicy = { initialMs: 200, maxMs: 7_000, factor: 2, resetAfterMs: 60_000 };

/** Renews the node's lease four times per lease duration. */
export async function runNodeLease(options: NodeLeaseOptions, signal: AbortSignal): Promise<void> {
  const { client, clock, logger, nodeName, leaseDurationSeconds } = options;
  const key = { namespace, name: nodeName };

  function renewed(lease: Lease): Lease {
    const { uid } = options.node()?.metadata ?? {};
    const owner = { apiVersion: "v1", kind: "Node", name: nodeName, uid: uid ?? "" };
    const { ownerReferences } = lease.metadata;
    return {
      ...lease,
      metadata: {
        ...lease.metadata,
        ...(uid && !ownerReferences?.length && { ownerReferences: [owner] }),
      },
      spec: {
        ...lease.spec,
        holderIdentity: nodeName,
        leaseDurationSeconds,
        renewTime: formatMicroTime(clock.now()),
      },
    };
  }

  async function fetchOrCreate(): Promise<Lease> {
    try {
      return await client.update("leases", renewed(await client.get("leases", key, { signal })), { signal });
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const metadata = { name: nodeName, namespace };
      const lease = renewed({ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata });
      return client.create("leases", lease, { signal });
    }
  }

  /** Updates the last known lease in one request. After a conflict or a deletion, the lease is read again. */
  async function renew(lease: Lease | undefined): Promise<Lease> {
    if (!lease) return fetchOrCreate();
    try {
      return await client.update("leases", renewed(lease), { signal });
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return fetchOrCreate();
      throw error;
    }
  }

  try {
    let lease: Lease | undefined;
    for (;;) {
      const from = lease;
      lease = await retry(() => renew(from), {
        policy: retryPolicy,
        clock,
        signal,
        onFailure: (error) =>
          logger.warn("failed to renew the node lease, retrying", { node: nodeName, error }),
      });
      await clock.sleep((leaseDurationSeconds * 1_000) / 4, signal);
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

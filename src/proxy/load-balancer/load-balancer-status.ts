import type { Client } from "../../client/api/client.ts";
import { createInformer } from "../../client/informers/informer.ts";
import { isConflict, isNotFound } from "../../client/transport/status-errors.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import { decideAddresses, hasAddresses } from "./decide-addresses.ts";

const retryMs = 5_000;

/** Writes the node's addresses into the status of load balancers until the signal aborts. */
export async function runLoadBalancerStatus(
  options: {
    readonly client: Client;
    /** Addresses of the node at which the proxy serves load balancers. */
    readonly addresses: readonly string[];
    readonly clock: Clock;
    readonly logger: Logger;
  },
  signal: AbortSignal,
): Promise<void> {
  const { client, addresses, clock, logger } = options;
  const services = createInformer({ client, resource: "services", clock, logger });
  const changes = createWakeUp();
  /** Conflicts that were logged, by service. */
  const logged = new Map<string, number>();
  services.onChange(changes.wake);

  /** Brings all services up to date. Returns whether all writes succeeded. */
  async function sync(): Promise<boolean> {
    let isDone = true;
    for (const { service, addresses: wanted, conflict } of decideAddresses(services.list(), addresses)) {
      const { namespace, name = "" } = service.metadata;
      const key = `${namespace}/${name}`;
      if (conflict === undefined) logged.delete(key);
      else if (logged.get(key) !== conflict) {
        logged.set(key, conflict);
        logger.warn(`load balancer ${key} gets no address: an older one uses port ${conflict}`);
      }
      if (hasAddresses(service, wanted)) continue;
      const ingress = wanted.map((ip) => ({ ip, ipMode: "VIP" }));
      const patch = { kind: "merge" as const, body: { status: { loadBalancer: { ingress } } } };
      try {
        await client.patch("services", { namespace, name }, { patch, subresource: "status", signal });
      } catch (error) {
        signal.throwIfAborted();
        if (isNotFound(error) || isConflict(error)) continue;
        isDone = false;
        logger.warn("cannot write the address of a load balancer", { service: key, error });
      }
    }
    return isDone;
  }

  const running = services.run(signal);
  try {
    await services.synced;
    while (!signal.aborted) {
      const next = changes.next();
      const isDone = await sync();
      await next.orAt(isDone ? Number.POSITIVE_INFINITY : clock.now() + retryMs, { clock, signal });
    }
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    await running;
  }
}

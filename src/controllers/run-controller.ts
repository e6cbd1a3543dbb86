import type { Features } from "../api/feature-gates.ts";
import type { Client } from "../client/client.ts";
import type { EventRecorder } from "../client/event-recorder.ts";
import { createWorkQueue, type WorkQueue } from "../client/work-queue.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Metrics } from "../lib/metrics.ts";
import type { Informers } from "./informers.ts";
import { measureWorkQueue } from "./work-queue-metrics.ts";

/** What controllers share, with what one of them has of its own. */
export interface ControllerContext {
  /** With the rights of its own service account. */
  readonly client: Client;
  /** With those of another one in kube-system. */
  clientAs(account: string): Client;
  /** Sees everything. */
  readonly reader: Pick<Client, "list">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly features: Features;
  readonly informers: Informers;
  /** What pods trust the API server by, for every namespace; without it nobody keeps it there. */
  readonly rootCa?: string;
  /** Where volumes are made, when every node is on this machine; without it nobody makes any. */
  readonly localVolumes?: {
    readonly directory: string;
    /** Creates the class that they are of, which no controller's account may; who makes them tries it unless given. */
    readonly classCreator?: Pick<Client, "create">;
  };
  /** For events that say they come from this component: `statefulset-controller`. */
  recorder(component: string): EventRecorder;
  /** Where they count what they do; without it nobody counts. */
  readonly metrics?: Metrics;
}

export interface ControllerOptions {
  /** For the log and the metrics. */
  readonly name: string;
  /** How many keys are handled at a time. */
  readonly concurrency?: number;
  /** Called once, at once: has informers tell the queue which keys a change concerns. */
  watch(queue: Pick<WorkQueue, "add">): void;
  /** Brings what the key names to where it should be; fails to be called again, later each time. */
  reconcile(key: string): Promise<Reconciled>;
}

/** A look is worth it again after this long, even if nothing changes until then. */
export type Reconciled = { readonly againAfterMs: number } | undefined;

/**
 * Changes → keys → queue → reconcile, until the signal aborts. Registers its handlers before it first waits: informers
 * may run as soon as this has returned its promise.
 */
export async function runController(
  context: Pick<ControllerContext, "informers" | "clock" | "logger" | "metrics">,
  { name, concurrency = 5, watch, reconcile }: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const { informers, clock, metrics } = context;
  const logger = context.logger.component(name);
  const measured = metrics && measureWorkQueue({ metrics, clock, name }, () => queue.size());
  const queue = createWorkQueue({
    clock,
    onFailure(key, error) {
      measured?.retried();
      logger.warn("could not reconcile, trying again", { key, error });
    },
    onAdd: measured?.onAdd,
    onTake: measured?.onTake,
  });
  watch(queue);
  try {
    await informers.synced();
    await queue.run(signal, concurrency, async (key) => {
      try {
        const again = await reconcile(key);
        if (again) queue.addAfter(key, again.againAfterMs);
      } finally {
        measured?.done(key);
      }
    });
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    measured?.end();
  }
}

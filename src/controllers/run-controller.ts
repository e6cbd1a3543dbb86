import type { Features } from "../api/feature-gates.ts";
import type { Client } from "../client/client.ts";
import type { EventRecorder } from "../client/event-recorder.ts";
import { createWorkQueue, type WorkQueue } from "../client/work-queue.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import type { Informers } from "./informers.ts";

/** What controllers share. */
export interface ControllerContext {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly features: Features;
  readonly informers: Informers;
  /** What pods trust the API server by, for every namespace; without it nobody keeps it there. */
  readonly rootCa?: string;
  /** Where volumes are made, when every node is on this machine; without it nobody makes any. */
  readonly localVolumes?: { readonly directory: string };
  /** For events that say they come from this component: `statefulset-controller`. */
  recorder(component: string): EventRecorder;
}

export interface ControllerOptions {
  /** For the log. */
  readonly name: string;
  /** How many keys are handled at a time. */
  readonly concurrency?: number;
  /** Called once, at once: has informers tell the queue which keys a change concerns. */
  watch(queue: Pick<WorkQueue, "add" | "addAfter">): void;
  /** Brings what the key names to where it should be; fails to be called again, later each time. */
  reconcile(key: string, signal: AbortSignal): Promise<Reconciled>;
}

/** A look is worth it again after this long, even if nothing changes until then. */
export type Reconciled = { readonly againAfterMs: number } | undefined;

/**
 * Changes → keys → queue → reconcile, until the signal aborts. Registers its handlers before it first waits: informers
 * may run as soon as this has returned its promise.
 */
export async function runController(
  { informers, clock, logger: parent }: Pick<ControllerContext, "informers" | "clock" | "logger">,
  { name, concurrency = 5, watch, reconcile }: ControllerOptions,
  signal: AbortSignal,
): Promise<void> {
  const logger = parent.component(name);
  const queue = createWorkQueue({
    clock,
    onFailure: (key, error) => logger.warn("could not reconcile, trying again", { key, error }),
  });
  watch(queue);
  try {
    await informers.synced();
  } catch (error) {
    if (signal.aborted) return;
    throw error;
  }
  await queue.run(signal, concurrency, async (key) => {
    const again = await reconcile(key, signal);
    if (again) queue.addAfter(key, again.againAfterMs);
  });
}

import { isEqual } from "../api/meta/is-equal.ts";
import type { Client } from "../client/api/client.ts";
import { createEventRecorder } from "../client/events/event-recorder.ts";
import { createInformer } from "../client/informers/informer.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

/** Records an event for each network policy that nothing enforces, until the signal aborts. */
export async function reportUnenforced(
  options: {
    readonly client: Client;
    /** Reason and remedy, as a sentence. */
    readonly message: string;
    readonly clock: Clock;
    readonly logger: Logger;
  },
  signal: AbortSignal,
): Promise<void> {
  const { client, message, clock, logger } = options;
  const recorder = createEventRecorder({ client, component: "network-policy", clock, logger });
  const policies = createInformer({ client, resource: "networkpolicies", clock, logger });
  policies.onChange((change) => {
    if (change.kind === "deleted") return;
    if (change.kind === "changed" && isEqual(change.previous.spec, change.object.spec)) return;
    recorder.record(change.object, { type: "Warning", reason: "NotEnforced", message });
  });
  await Promise.all([policies.run(signal), recorder.run(signal)]);
}

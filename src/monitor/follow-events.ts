import type { Event } from "../api/objects.ts";
import type { Client } from "../client/client.ts";
import { reflect } from "../client/reflector.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";

interface FollowEventsDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Which of them. */
  readonly fieldSelector: string;
  /** Each as it comes in; after a lost connection those of the last hour again. */
  onEvent(event: Event): void;
}

/** Events are many and each is looked at once: none is kept here. */
export async function followEvents(deps: FollowEventsDeps, signal: AbortSignal): Promise<void> {
  const { client, clock, logger, fieldSelector, onEvent } = deps;
  await reflect<Event>(
    {
      list: (page) => client.list("events", { fieldSelector, ...page }),
      watch: (start) => client.watch("events", { fieldSelector, ...start }),
      cache: { put: onEvent, remove() {}, beginList: () => ({ add: onEvent, complete() {} }) },
      onListed() {},
      clock,
      logger,
      resource: "events",
    },
    signal,
  );
}

import { join } from "node:path";
import type { ContainerEventResponse } from "../../cri/generated/cri.ts";
import type { Clock } from "../../lib/clock.ts";
import { createEventHub, type EventHub } from "../../lib/event-hub.ts";
import { createKeyedMutex, type KeyedMutex } from "../../lib/keyed-mutex.ts";
import type { Logger } from "../../lib/logger.ts";
import type { Driver } from "../driver/driver.ts";
import type { Handler } from "../driver/open-handlers.ts";
import type { Images } from "../image/images.ts";
import type { Network } from "../network/network.ts";
import { RuntimeError } from "../runtime-error.ts";
import { type ContainerRecord, decodeContainer, encodeContainer } from "./container-record.ts";
import { openRecords, type Records } from "./records.ts";
import { decodeSandbox, encodeSandbox, type SandboxRecord } from "./sandbox-record.ts";

/** Of one subscriber. */
const mostPendingEvents = 1_000;

/** What the runtime is made of, chosen for this machine. */
export interface RuntimeParts {
  readonly dataDir: string;
  readonly images: Images;
  /** Stands for those of the handlers too. */
  readonly driver: Driver;
  /** What RuntimeClasses can name beside the driver itself. */
  readonly handlers: readonly Handler[];
  readonly network: Network;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The parts and what they have made: every call works on this. */
export interface RuntimeState extends RuntimeParts {
  readonly sandboxes: Records<SandboxRecord>;
  readonly containers: Records<ContainerRecord>;
  /** By object id. Who needs both a sandbox and one of its containers takes the sandbox first. */
  readonly locks: KeyedMutex;
  readonly events: EventHub<ContainerEventResponse>;
  /** Aborts when the daemon stops: watches end, containers go on. */
  readonly stopping: AbortSignal;
}

export async function openRuntimeState(parts: RuntimeParts, stopping: AbortSignal): Promise<RuntimeState> {
  const { dataDir, logger } = parts;
  const [sandboxes, containers] = await Promise.all([
    openRecords<SandboxRecord>({
      directory: join(dataDir, "sandboxes"),
      what: "sandbox",
      encode: encodeSandbox,
      decode: decodeSandbox,
      logger,
    }),
    openRecords<ContainerRecord>({
      directory: join(dataDir, "containers"),
      what: "container",
      encode: encodeContainer,
      decode: decodeContainer,
      logger,
    }),
  ]);
  return {
    ...parts,
    sandboxes,
    containers,
    locks: createKeyedMutex(),
    events: createEventHub<ContainerEventResponse>({
      capacity: mostPendingEvents,
      overflow: () =>
        new RuntimeError(
          "resourceExhausted",
          `more than ${mostPendingEvents} events were waiting to be read`,
        ),
    }),
    stopping,
  };
}

/** The directory for a sandbox's or container's own files. */
export function objectDirectory(
  { dataDir }: Pick<RuntimeParts, "dataDir">,
  kind: "sandboxes" | "containers",
  id: string,
): string {
  return join(dataDir, kind, id);
}

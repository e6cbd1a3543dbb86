import { join } from "node:path";
import { toNanos } from "../../cri/field-values.ts";
import type { ContainerEventResponse, ContainerEventType } from "../../cri/generated/cri.ts";
import { createEventHub, type EventHub } from "../../lib/async-queue.ts";
import type { Clock } from "../../lib/clock.ts";
import { createKeyedMutex, type KeyedMutex } from "../../lib/keyed-mutex.ts";
import type { Logger } from "../../lib/logger.ts";
import { createTaskGroup, type TaskGroup } from "../../lib/task-group.ts";
import type { Driver } from "../drivers/driver.ts";
import type { Handler } from "../drivers/open-handlers.ts";
import { RuntimeError } from "../errors/runtime-error.ts";
import type { Images } from "../images/images.ts";
import type { Network } from "../networks/network.ts";
import {
  type ContainerRecord,
  containerStatusMessage,
  decodeContainer,
  encodeContainer,
} from "./container-record.ts";
import { openRecords, type Records } from "./records.ts";
import { decodeSandbox, encodeSandbox, type SandboxRecord, sandboxStatusMessage } from "./sandbox-record.ts";

/** Maximum number of pending events of a subscriber. */
const maxPendingEvents = 1_000;

/** Parts of the runtime, chosen for this machine. */
export interface RuntimeParts {
  readonly dataDir: string;
  readonly images: Images;
  /** Driver for all handlers. */
  readonly driver: Driver;
  /** Handlers that a RuntimeClass can name in addition to the driver itself. */
  readonly handlers: readonly Handler[];
  readonly network: Network;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Aborts when the daemon stops: watches end, containers keep running. */
  readonly stopping: AbortSignal;
}

/** Parts of the runtime and the objects that they manage. Every call works on it. */
export interface RuntimeState extends RuntimeParts {
  readonly sandboxes: Records<SandboxRecord>;
  readonly containers: Records<ContainerRecord>;
  /** Locks by object ID. Code that needs a sandbox and one of its containers locks the sandbox first. */
  readonly locks: KeyedMutex;
  readonly events: EventHub<ContainerEventResponse>;
  /** Waits for the exits of containers, with what records them. The daemon awaits them when it stops. */
  readonly exitWatches: TaskGroup;
}

export async function openRuntimeState(parts: RuntimeParts): Promise<RuntimeState> {
  const { dataDir, images, driver, handlers, network, clock, logger, stopping } = parts;
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
    dataDir,
    images,
    driver,
    handlers,
    network,
    clock,
    logger,
    stopping,
    sandboxes,
    containers,
    locks: createKeyedMutex(),
    events: createEventHub<ContainerEventResponse>({
      capacity: maxPendingEvents,
      overflow: () =>
        new RuntimeError("resourceExhausted", `more than ${maxPendingEvents} events were waiting to be read`),
    }),
    exitWatches: createTaskGroup(),
  };
}

/** Directory of the files of a sandbox or container. */
export function objectDirectory(
  { dataDir }: Pick<RuntimeParts, "dataDir">,
  kind: "sandboxes" | "containers",
  id: string,
): string {
  return join(dataDir, kind, id);
}

type Deps = Pick<RuntimeState, "sandboxes" | "containers" | "events" | "clock">;

/** Publishes an event with the current state of the whole pod. Sandboxes count as containers. */
export function publishEvent(
  { sandboxes, containers, events, clock }: Deps,
  {
    sandboxId,
    containerId = sandboxId,
    type,
  }: { sandboxId: string; containerId?: string; type: ContainerEventType },
): void {
  const sandbox = sandboxes.get(sandboxId);
  const members = containers.list().filter((container) => container.sandboxId === sandboxId);
  events.publish({
    containerId,
    containerEventType: type,
    createdAt: toNanos(clock.now()),
    podSandboxStatus: sandbox && sandboxStatusMessage(sandbox),
    containersStatuses: members
      .filter(({ state }) => state.kind !== "making")
      .map((container) => containerStatusMessage(container)),
  });
}

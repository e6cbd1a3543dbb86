import { mkdir, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { toNanos } from "../../cri/field-values.ts";
import type { ContainerEventResponse, ContainerEventType } from "../../cri/generated/cri.ts";
import { createEventHub, type EventHub } from "../../lib/async-queue.ts";
import type { Clock } from "../../lib/clock.ts";
import { writeFileAtomic } from "../../lib/fs/write-file-atomic.ts";
import { createKeyedMutex, type KeyedMutex } from "../../lib/keyed-mutex.ts";
import type { Logger } from "../../lib/logger.ts";
import { createTaskGroup, type TaskGroup } from "../../lib/task-group.ts";
import type { Driver } from "../drivers/driver.ts";
import type { Handler } from "../drivers/open-handlers.ts";
import { invalidArgument, notFound, RuntimeError } from "../errors/runtime-error.ts";
import type { Images } from "../images/images.ts";
import type { Network } from "../networks/network.ts";
import {
  type ContainerRecord,
  containerStatusMessage,
  decodeContainer,
  encodeContainer,
} from "./container-record.ts";
import { decodeSandbox, encodeSandbox, type SandboxRecord, sandboxStatusMessage } from "./sandbox-record.ts";

/**
 * Store of objects by ID, in memory and in one JSON file each. Readers see a change at once; it resolves when the file
 * is written. Files are not synced: after a power failure the containers are gone as well, and an unreadable record is
 * deleted.
 */
export interface Records<T extends { readonly id: string }> {
  list(): readonly T[];
  get(id: string): T | undefined;
  /** Finds by ID or prefix of an ID. Throws when nothing or more than one object matches. */
  find(idOrPrefix: string): T;
  put(record: T): Promise<void>;
  /** Changes an existing record; does nothing when it does not exist. */
  change(id: string, change: (record: T) => T): Promise<void>;
  remove(id: string): Promise<void>;
}

interface RecordsOptions<T> {
  readonly directory: string;
  /** Kind of object, for messages: "sandbox", "container". */
  readonly what: string;
  encode(record: T): unknown;
  decode(value: unknown): T;
  readonly logger: Logger;
}

async function openRecords<T extends { readonly id: string }>(
  options: RecordsOptions<T>,
): Promise<Records<T>> {
  const { directory, what, encode } = options;
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const records = await readRecords(options);
  const writes = createKeyedMutex();
  const fileOf = (id: string) => join(directory, `${id}.json`);

  async function put(record: T): Promise<void> {
    records.set(record.id, record);
    await writes.run(record.id, async () => {
      // Writes the current record, not the one passed: of two puts in a row, the first write may include the second.
      const latest = records.get(record.id);
      if (!latest) return;
      const file = fileOf(record.id);
      await writeFileAtomic(file, JSON.stringify(encode(latest)), { temporary: `${file}.new` });
    });
  }

  return {
    list: () => [...records.values()],
    get: (id) => records.get(id),
    find(idOrPrefix) {
      const exact = records.get(idOrPrefix);
      if (exact) return exact;
      if (idOrPrefix === "") throw invalidArgument(`the ${what}'s id is missing`);
      const matches = [...records.values()].filter(({ id }) => id.startsWith(idOrPrefix));
      if (matches.length > 1)
        throw invalidArgument(`${idOrPrefix} is the beginning of ${matches.length} ${what} ids`);
      const [match] = matches;
      if (!match) throw notFound(what, idOrPrefix);
      return match;
    },
    put,
    async change(id, change) {
      const record = records.get(id);
      if (record) await put(change(record));
    },
    async remove(id) {
      records.delete(id);
      await writes.run(id, () => rm(fileOf(id), { force: true }));
    },
  };
}

async function readRecords<T extends { readonly id: string }>({
  directory,
  what,
  decode,
  logger,
}: RecordsOptions<T>): Promise<Map<string, T>> {
  const records = new Map<string, T>();
  for (const name of await readdir(directory)) {
    const path = join(directory, name);
    if (name.endsWith(".json.new")) await rm(path, { force: true });
    if (!name.endsWith(".json")) continue;
    try {
      const record = decode(JSON.parse(await readFile(path, "utf8")));
      records.set(record.id, record);
    } catch (error) {
      logger.warn(`deleting an unreadable ${what} record`, { path, error });
      await rm(path, { force: true });
    }
  }
  return records;
}

/** Maximum number of pending events of a subscriber. */
const maxPendingEvents = 1_000;

/** Parts of the runtime, chosen for this machine. */
interface RuntimeParts {
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

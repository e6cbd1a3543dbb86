import type { Event, Pod } from "../../api/meta/objects.ts";
import type { Client } from "../../client/api/client.ts";
import type { ConnectionState } from "../../client/informers/reflector.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { runCompaction } from "../../store/compaction.ts";
import type { Store } from "../../store/store.ts";
import {
  type AvailabilityRecord,
  createAvailability,
  createPodReader,
  type WatchName,
} from "../measure/availability.ts";
import { createStartJournal } from "../measure/start-journal.ts";
import type { PodStart, StartSignal } from "../measure/start-signal.ts";
import {
  createStartTracker,
  type StartingChange,
  type StartingPod,
  type StartTracker,
} from "../measure/start-tracker.ts";
import { createMissingConditionNotice, createWatchedObjects, watchEvents } from "./watched-objects.ts";

export type { StartingChange, StartingPod };

/** Watches the pods of a cluster and measures how they start. Listeners must be added before `run`. */
export interface Monitor {
  /** Adds a listener for signals. Each is emitted once, in order per pod. */
  onSignal(listener: (signal: StartSignal) => void): void;
  /** Adds a listener for changes of starting pods. */
  onStarting(listener: (change: StartingChange) => void): void;
  /** Adds a listener for deleted pods, which receives their uid after the last signal. */
  onGone(listener: (uid: string) => void): void;
  /** Adds a listener for events about pods. After a reconnect, events of the last hour are repeated. */
  onEvent(listener: (event: Event) => void): void;
  /** Pods that are not ready yet, including stuck ones. */
  starting(): Iterable<StartingPod>;
  /** The last 2,000 starts that reached Ready, newest first. */
  finished(): readonly PodStart[];
  /** All pods, trimmed: starting pods to what `explain` reads, others to their class and times. */
  pods(): Iterable<Pod>;
  /** Pods of a controller, trimmed likewise. */
  podsOf(ownerUid: string): readonly Pod[];
  /** Times that are not counted against a pod. */
  readonly availability: AvailabilityRecord;
  /** Reads these pods and returns, by uid, the time at which a pod was still in the state that the monitor knows. */
  confirm(uids: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, number>>;
  /** Resolves after the first list of pods. Rejects if `run` ends before that. */
  readonly synced: Promise<void>;
  /** Runs until the signal aborts and all pending signals are emitted. Throws if the store cannot be read. */
  run(signal: AbortSignal): Promise<void>;
}

interface MonitorOptions {
  /** A pod is stuck after this time in one stage. */
  readonly stuckAfterSeconds: number;
  /** Label and annotation keys whose values become part of a pod's class. */
  readonly chosenLabels: readonly string[];
  readonly chosenAnnotations: readonly string[];
}

export interface MonitorDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Store for emitted signals, so that a restart does not repeat them. The caller opens and closes it. */
  readonly store: Store;
  readonly options: MonitorOptions;
}

const tickMs = 1_000;
/** Interval of reads that check the availability of the API server. */
const probeMs = 5_000;
/** Time to wait for the claims; without permission to read them, starts are measured without storage classes. */
const claimsTimeoutMs = 10_000;
/** Past revisions of the store are not needed. */
const compaction = { everyMs: 60_000, keepMs: 0, keepRevisions: 0 };

export function createMonitor({ client, clock, logger, store, options }: MonitorDeps): Monitor {
  const signals = createListeners<StartSignal>(logger);
  const startingChanges = createListeners<StartingChange>(logger);
  const gone = createListeners<string>(logger);
  const events = createListeners<Event>(logger);
  let tracker: StartTracker | undefined;
  const availability = createAvailability();
  const onConnection = (watch: WatchName) => (state: ConnectionState) =>
    state === "lost" ? availability.watchLost(watch, clock.now()) : availability.watchOpened(watch);
  const { pods, claims } = createWatchedObjects(
    { client, clock, logger, onPodsConnection: onConnection("pods") },
    options,
  );
  const reader = createPodReader({ client, clock, availability, find: (uid) => tracker?.find(uid) });
  const journal = createStartJournal({ store, clock, logger, emit: signals.emit, onRemoved: gone.emit });
  const noticeMissingCondition = createMissingConditionNotice(logger);
  let settleSynced: { resolve(): void; reject(reason: unknown): void } | undefined;
  const synced = new Promise<void>((resolve, reject) => {
    settleSynced = { resolve, reject };
  });
  // Prevents an unhandled rejection.
  synced.catch(() => {});

  pods.onChange(({ kind, object, listed }) => {
    noticeMissingCondition(object);
    const seen = { unbroken: !listed, now: clock.now() };
    if (kind === "deleted") tracker?.podGone(object, seen);
    else tracker?.podSeen(object, seen);
  });

  async function openTracker(): Promise<StartTracker> {
    const { sinceMs, records } = await journal.load();
    return createStartTracker({
      sinceMs,
      records,
      classes: {
        chosenLabels: options.chosenLabels,
        chosenAnnotations: options.chosenAnnotations,
        storageClassOf: (namespace, name) => claims.get(`${namespace}/${name}`)?.spec?.storageClassName,
      },
      unavailableMs: availability.unavailableMs,
      stuckAfterMs: options.stuckAfterSeconds * 1_000,
      write: journal.write,
      onStarting: startingChanges.emit,
    });
  }

  /** Watches claims first, because they are part of the class of a pod, and events after the pods that they refer to. */
  async function follow(opened: StartTracker, signal: AbortSignal): Promise<void> {
    const following = [claims.run(signal)];
    await Promise.race([claims.synced, clock.sleep(claimsTimeoutMs, signal)]).catch(() => {});
    following.push(pods.run(signal));
    await pods.synced.catch(() => {});
    if (!signal.aborted) {
      const { dropped } = opened.settle();
      logger.info("watching how pods start", { pods: count(pods.list()), goneMeanwhile: dropped });
      settleSynced?.resolve();
      const onEvent = (event: Event) => {
        opened.eventSeen(event, clock.now());
        events.emit(event);
      };
      const fieldSelector = "involvedObject.kind=Pod";
      following.push(
        watchEvents(
          { client, clock, logger, fieldSelector, onEvent, onConnection: onConnection("events") },
          signal,
        ),
      );
    }
    await Promise.all(following);
  }

  /** Finds stuck pods. Each is confirmed by a read before it is reported. */
  async function findStuckPods(opened: StartTracker, signal: AbortSignal): Promise<void> {
    let probedMs = Number.NEGATIVE_INFINITY;
    while (!signal.aborted) {
      const now = clock.now();
      const suspects = opened.suspects(now);
      if (suspects.length > 0) {
        const confirmed = await reader.confirm(suspects, signal);
        for (const [uid, asOfMs] of confirmed) opened.confirmed(uid, asOfMs);
      } else if (Math.abs(now - probedMs) >= probeMs) {
        probedMs = now;
        await reader.probe(signal);
      }
      await clock.sleep(tickMs, signal).catch(() => {});
    }
  }

  return {
    onSignal: signals.add,
    onStarting: startingChanges.add,
    onGone: gone.add,
    onEvent: events.add,
    starting: () => tracker?.starting() ?? [],
    finished: () => tracker?.finished() ?? [],
    pods: pods.list,
    podsOf: (ownerUid) => pods.byIndex("owner", ownerUid),
    availability,
    confirm: (uids, signal) => {
      const known = uids.flatMap((uid) => tracker?.find(uid) ?? []);
      return reader.confirm(known, signal);
    },
    synced,
    async run(signal) {
      try {
        const opened = await openTracker();
        tracker = opened;
        // The journal stops last, so that the last observations are written.
        const writing = new AbortController();
        const journalled = journal.run(writing.signal);
        const onFailure = (error: unknown) =>
          logger.warn("compacting the store failed; retrying in a minute", { error });
        await Promise.all([
          follow(opened, signal),
          findStuckPods(opened, signal),
          runCompaction(store, { policy: compaction, clock, signal, onFailure }),
        ]).finally(() => writing.abort());
        await journalled;
      } finally {
        settleSynced?.reject(signal.reason ?? new Error("the monitor stopped"));
      }
    },
  };
}

function count(all: Iterable<unknown>): number {
  let found = 0;
  for (const _ of all) found++;
  return found;
}

/** Set of listeners. An error of one is logged and does not affect the others. */
interface Listeners<T> {
  add(listener: (value: T) => void): void;
  emit(value: T): void;
}

function createListeners<T>(logger: Logger): Listeners<T> {
  const listeners: ((value: T) => void)[] = [];
  return {
    add: (listener) => void listeners.push(listener),
    emit(value) {
      for (const listener of listeners) {
        try {
          listener(value);
        } catch (error) {
          logger.error("a listener of the monitor failed", { error });
        }
      }
    },
  };
}

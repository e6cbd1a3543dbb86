import type { Event, Pod } from "../api/objects.ts";
import type { Client } from "../client/client.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { runCompaction } from "../store/compaction.ts";
import type { Store } from "../store/store.ts";
import { followEvents } from "./follow-events.ts";
import { createListeners } from "./listeners.ts";
import { createMissingConditionNotice } from "./measure/missing-condition.ts";
import { createStartJournal } from "./measure/start-journal.ts";
import type { PodStart, StartSignal } from "./measure/start-signal.ts";
import {
  createStartTracker,
  type StartingChange,
  type StartingPod,
  type StartTracker,
} from "./measure/start-tracker.ts";
import { createWatchedObjects } from "./watched-objects.ts";

export type { StartingChange, StartingPod };

/** Watches a cluster's pods, measures how they start, and tells it. */
export interface Monitor {
  /** Before `run`. Each signal once, those of one pod in their order. */
  onSignal(listener: (signal: StartSignal) => void): void;
  /** Before `run`. After every change of a pod that starts, and when one starts no more. */
  onStarting(listener: (change: StartingChange) => void): void;
  /** Before `run`. The uid of every pod that is deleted, after all that is told of it. */
  onGone(listener: (uid: string) => void): void;
  /** Before `run`. Every event about a pod as it comes in; after a lost connection those of the last hour again. */
  onEvent(listener: (event: Event) => void): void;
  /** Pods on their way to Ready now, those that are stuck too. */
  starting(): Iterable<StartingPod>;
  /** The last starts that came to Ready, newest first, 2,000 at most. */
  finished(): readonly PodStart[];
  /** Every pod there is, trimmed: those that start to what `explain` reads, the others to their class and times. */
  pods(): Iterable<Pod>;
  /** Pods by the uid of their controller, trimmed likewise. */
  podsOf(ownerUid: string): readonly Pod[];
  /** Resolves once all pods have been looked at; rejects when `run` ends before that. */
  readonly synced: Promise<void>;
  /** Until the signal aborts. What can be told has been told when it returns. Throws when the store cannot be read. */
  run(signal: AbortSignal): Promise<void>;
}

interface MonitorOptions {
  /** Longer than this in one stage is stuck. */
  readonly stuckAfterSeconds: number;
  /** Label and annotation keys whose values become part of a pod's class. */
  readonly chosenLabels: readonly string[];
  readonly chosenAnnotations: readonly string[];
}

export interface MonitorDeps {
  readonly client: Client;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Where it is kept what has been told, so that a restart does not tell it again. Opened and closed by the caller. */
  readonly store: Store;
  readonly options: MonitorOptions;
}

const tickMs = 1_000;
/** A cluster that does not let its claims be read is measured without storage classes. */
const claimsPatienceMs = 10_000;
/** Nobody reads the store's past. */
const compaction = { everyMs: 60_000, keepMs: 0, keepRevisions: 0 };

export function createMonitor({ client, clock, logger, store, options }: MonitorDeps): Monitor {
  const signals = createListeners<StartSignal>(logger);
  const startingChanges = createListeners<StartingChange>(logger);
  const gone = createListeners<string>(logger);
  const events = createListeners<Event>(logger);
  const { pods, claims } = createWatchedObjects({ client, clock, logger }, options);
  const journal = createStartJournal({ store, clock, logger, tell: signals.tell, onForgotten: gone.tell });
  const noticeMissingCondition = createMissingConditionNotice(logger);
  let tracker: StartTracker | undefined;
  let settleSynced: { resolve(): void; reject(reason: unknown): void } | undefined;
  const synced = new Promise<void>((resolve, reject) => {
    settleSynced = { resolve, reject };
  });
  // Not everybody waits for it.
  synced.catch(() => {});

  pods.onChange(({ kind, object, listed }) => {
    noticeMissingCondition(object);
    const seen = { unbroken: !listed, now: clock.now() };
    if (kind === "deleted") tracker?.podGone(object, seen);
    else tracker?.podSeen(object, seen);
  });

  async function openTracker(): Promise<StartTracker> {
    return createStartTracker({
      ...(await journal.load()),
      classes: {
        ...options,
        storageClassOf: (namespace, name) => claims.get(`${namespace}/${name}`)?.spec?.storageClassName,
      },
      stuckAfterMs: options.stuckAfterSeconds * 1_000,
      write: journal.write,
      onStarting: startingChanges.tell,
    });
  }

  /** Claims first, so that the class of a pod is complete; events last, so that their pods are known. */
  async function follow(opened: StartTracker, signal: AbortSignal): Promise<void> {
    const following = [claims.run(signal)];
    await Promise.race([claims.synced, clock.sleep(claimsPatienceMs, signal)]).catch(() => {});
    following.push(pods.run(signal));
    await pods.synced.catch(() => {});
    if (!signal.aborted) {
      const { dropped } = opened.settle();
      logger.info("watching how pods start", { pods: count(pods.list()), goneMeanwhile: dropped });
      settleSynced?.resolve();
      const onEvent = (event: Event) => {
        opened.eventSeen(event, clock.now());
        events.tell(event);
      };
      const fieldSelector = "involvedObject.kind=Pod";
      following.push(followEvents({ client, clock, logger, fieldSelector, onEvent }, signal));
    }
    await Promise.all(following);
  }

  async function tick(opened: StartTracker, signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      opened.tick(clock.now());
      await clock.sleep(tickMs, signal).catch(() => {});
    }
  }

  return {
    onSignal: signals.add,
    onStarting: startingChanges.add,
    onGone: gone.add,
    onEvent: events.add,
    starting: () => tracker?.starting(clock.now()) ?? [],
    finished: () => tracker?.finished() ?? [],
    pods: pods.list,
    podsOf: (ownerUid) => pods.byIndex("owner", ownerUid),
    synced,
    async run(signal) {
      try {
        const opened = await openTracker();
        tracker = opened;
        // What is seen last is still written: the journal stops behind all others.
        const writing = new AbortController();
        const journalled = journal.run(writing.signal);
        const onFailure = (error: unknown) => logger.warn("cannot compact the store", { error });
        await Promise.all([
          follow(opened, signal),
          tick(opened, signal),
          runCompaction(store, { policy: compaction, clock, signal, onFailure }),
        ]).finally(() => writing.abort());
        await journalled;
      } finally {
        settleSynced?.reject(signal.reason ?? new Error("the monitor has ended"));
      }
    },
  };
}

function count(all: Iterable<unknown>): number {
  let found = 0;
  for (const _ of all) found++;
  return found;
}

import type { Event, KubeObject } from "../../api/meta/objects.ts";
import { StatusError } from "../../api/meta/status-error.ts";
import { withDeadline } from "../../lib/abort.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { createWakeUp } from "../../lib/wake-up.ts";
import type { Client } from "../api/client.ts";
import { isNotFound } from "../transport/status-errors.ts";
import {
  type CorrelatedEvent,
  createEventCorrelator,
  type EventToRecord,
  makeEvent,
} from "./event-correlator.ts";

export type { EventToRecord };

/** Records Kubernetes events about objects. */
export interface EventRecorder {
  /** Never throws and never waits. An event that cannot be written is dropped and counted. */
  record(about: KubeObject, event: EventToRecord): void;
}

export interface EventRecorderOptions {
  readonly client: Pick<Client, "create" | "patch">;
  /** Source component, for example `kubelet`. */
  readonly component: string;
  /** Node name of the source. */
  readonly host?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
  /** Number of concurrent writes. Default: 1. Events about one object are written sequentially. */
  readonly writers?: number;
}

export interface RunningEventRecorder extends EventRecorder {
  /** Writes events until the signal aborts, then tries once to flush the queue. */
  run(signal: AbortSignal): Promise<void>;
  /** Number of events that could not be written, without those that the correlator dropped. */
  dropped(): number;
  /** Duration of the latest write or of the oldest one in progress, as a measure of server load. */
  writeMs(): number;
}

const maxQueued = 1_000;
const maxAttempts = 12;
const firstRetryMs = 200;
const maxRetryMs = 10_000;
/** Time limit for flushing the queue on shutdown. */
const flushTimeoutMs = 2_000;

export function createEventRecorder(options: EventRecorderOptions): RunningEventRecorder {
  const { client, component, host, clock, logger, random = Math.random, writers = 1 } = options;
  const correlator = createEventCorrelator();
  const source = { component, ...(host && { host }) };
  const queue = createEventQueue(maxQueued);
  const work = createWakeUp();
  let dropped = 0;
  let lastWriteMs = 0;
  /** Start times of the writes in progress, oldest first. */
  const begun = new Map<EventWrite, number>();
  let lastName = 0n;

  /** Event names end with nanoseconds; below the clock's resolution they are random and strictly increasing. */
  function nextName(now: number): bigint {
    const name = BigInt(Math.trunc(now)) * 1_000_000n + BigInt(Math.floor(random() * 1_000_000));
    lastName = name > lastName ? name : lastName + 1n;
    return lastName;
  }

  function drop(event: Event, why: string, error?: unknown): void {
    dropped++;
    const { reason, message, involvedObject: about } = event;
    logger.debug("dropped an event", {
      why,
      about: `${about.namespace}/${about.name}`,
      reason,
      message,
      error,
    });
  }

  async function write(writing: EventWrite, signal: AbortSignal): Promise<void> {
    const { event } = writing;
    if (writing.kind === "patch") {
      try {
        const { name = "", namespace } = event.metadata;
        const patch = { kind: "strategic", body: writing.patch } as const;
        await client.patch("events", { namespace, name }, { patch, signal });
        return;
      } catch (error) {
        // Events expire after about an hour: the original may no longer exist.
        if (!isNotFound(error)) throw error;
      }
    }
    await client.create("events", event, { signal });
  }

  /** Retries until the event is written or the error is permanent. */
  async function writeWithRetries(writing: EventWrite, signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await write(writing, signal);
      } catch (error) {
        if (!isTransient(error)) return drop(writing.event, "the server rejected it", error);
        if (tries === maxAttempts) return drop(writing.event, "the server cannot be reached", error);
        const delayMs = Math.min(maxRetryMs, firstRetryMs * 2 ** tries) * (0.5 + random() / 2);
        await clock.sleep(delayMs, signal);
      }
    }
  }

  async function writeEvents(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      const more = work.next();
      const next = queue.take();
      if (!next) {
        await more.orAt(Number.POSITIVE_INFINITY, { clock, signal }).catch(() => {});
        continue;
      }
      const startedAt = clock.now();
      begun.set(next, startedAt);
      await writeWithRetries(next, signal).catch(() => {});
      begun.delete(next);
      lastWriteMs = clock.now() - startedAt;
      // An aborted write stays in the queue and is flushed.
      if (!signal.aborted) queue.done(next);
      work.wake();
    }
  }

  async function flush(): Promise<void> {
    const left = queue.drain();
    try {
      await withDeadline({ clock, timeoutMs: flushTimeoutMs }, async (signal) => {
        for (let next = left[0]; next; next = left[0]) {
          const { event } = next;
          await write(next, signal).catch((error) => {
            if (isTransient(error)) throw error;
            drop(event, "the server rejected it", error);
          });
          left.shift();
        }
      });
    } catch (error) {
      for (const { event } of left) drop(event, "the recorder stopped", error);
    }
  }

  return {
    record(about, event) {
      const now = clock.now();
      const made = makeEvent(about, event, { source, now, nanoseconds: nextName(now) });
      const correlated = correlator.correlate(made, now);
      if (correlated.kind === "spam") return;
      const rejected = queue.add(correlated);
      if (rejected) drop(rejected.event, `the queue of ${maxQueued} events is full`);
      work.wake();
    },
    dropped: () => dropped,
    writeMs() {
      const [oldest] = begun.values();
      return Math.max(lastWriteMs, oldest === undefined ? 0 : clock.now() - oldest);
    },
    async run(signal) {
      await Promise.all(Array.from({ length: writers }, () => writeEvents(signal)));
      await flush();
    },
  };
}

/** Connection failures and overload are transient; rejections are permanent. */
function isTransient(error: unknown): boolean {
  return !(error instanceof StatusError) || error.code >= 500 || error.code === 429;
}

export type EventWrite = Exclude<CorrelatedEvent, { kind: "spam" }>;

/** Queue of events to write. Several are written concurrently, those about one object sequentially. */
export interface EventQueue {
  /** Returns the event that was dropped because the queue is full. A warning replaces a normal event. */
  add(writing: EventWrite): EventWrite | undefined;
  /** Returns the next event that may be written. It counts as queued until `done`. */
  take(): EventWrite | undefined;
  done(writing: EventWrite): void;
  /** Removes and returns all events in order, including those taken and not done. */
  drain(): EventWrite[];
}

export function createEventQueue(capacity: number): EventQueue {
  const waiting: EventWrite[] = [];
  const taken = new Map<string, EventWrite>();

  return {
    add(writing) {
      if (waiting.length + taken.size < capacity) {
        waiting.push(writing);
        return undefined;
      }
      const place = isWarning(writing) ? waiting.findLastIndex((each) => !isWarning(each)) : -1;
      if (place < 0) return writing;
      const [victim] = waiting.splice(place, 1);
      waiting.push(writing);
      return victim;
    },
    take() {
      const place = waiting.findIndex(({ event }) => !taken.has(objectOf(event)));
      if (place < 0) return undefined;
      const [next] = waiting.splice(place, 1);
      if (next) taken.set(objectOf(next.event), next);
      return next;
    },
    done: ({ event }) => void taken.delete(objectOf(event)),
    drain() {
      const left = [...taken.values(), ...waiting.splice(0)];
      taken.clear();
      return left;
    },
  };
}

function isWarning({ event }: EventWrite): boolean {
  return event.type === "Warning";
}

function objectOf({ involvedObject: { kind, namespace, name, uid } }: Event): string {
  return `${kind}/${namespace}/${name}/${uid}`;
}

import type { Event, KubeObject } from "../api/objects.ts";
import { StatusError } from "../api/status-error.ts";
import type { Clock } from "../lib/clock.ts";
import type { Logger } from "../lib/logger.ts";
import { createWakeUp } from "../lib/wake-up.ts";
import type { Client } from "./client.ts";
import { createEventCorrelator } from "./event-correlator.ts";
import { createEventQueue, type EventWriting } from "./event-queue.ts";
import { type EventToRecord, makeEvent } from "./make-event.ts";
import { isNotFound } from "./status-errors.ts";
import { withDeadline } from "./with-deadline.ts";

export type { EventToRecord };

/** Says on an object what happened to it. */
export interface EventRecorder {
  /** Never throws and never waits: an event that cannot be written is dropped, and counted. */
  record(about: KubeObject, event: EventToRecord): void;
}

export interface EventRecorderOptions {
  readonly client: Pick<Client, "create" | "patch">;
  /** Who says it: `kubelet`. */
  readonly component: string;
  /** The node that it is said from. */
  readonly host?: string;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random?: () => number;
  /** How many events may be on their way at once; one unless told. Those about one object go one after the other. */
  readonly writers?: number;
}

export interface RunningEventRecorder extends EventRecorder {
  /** Writes events, those about one object in order, until the signal aborts; then tries once to write those that are left. */
  run(signal: AbortSignal): Promise<void>;
  /** How many could not be written. Those that say too much about one object are not among them. */
  dropped(): number;
  /** How long the newest write took, or takes so far: how busy the server is, as seen from here. */
  writeMs(): number;
}

const maxQueued = 1_000;
const maxTries = 12;
const firstRetryMs = 200;
const slowestRetryMs = 10_000;
/** How long the events that are left at the end may take. */
const lastWordsMs = 2_000;

export function createEventRecorder(options: EventRecorderOptions): RunningEventRecorder {
  const { client, component, host, clock, logger, random = Math.random, writers = 1 } = options;
  const correlator = createEventCorrelator();
  const source = { component, ...(host && { host }) };
  const queue = createEventQueue(maxQueued);
  const work = createWakeUp();
  let dropped = 0;
  let lastWriteMs = 0;
  /** When each that is on its way was begun, the oldest first. */
  const begun = new Map<EventWriting, number>();
  let lastName = 0n;

  /** The clock counts milliseconds, names count nanoseconds: the rest is chance, and never the same twice. */
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

  async function write(writing: EventWriting, signal: AbortSignal): Promise<void> {
    const { event } = writing;
    if (writing.kind === "patch") {
      try {
        const { name = "", namespace } = event.metadata;
        const patch = { kind: "strategic", body: writing.patch } as const;
        await client.patch("events", { namespace, name }, { patch, signal });
        return;
      } catch (error) {
        // Events live for an hour or so: the one to count up may be gone.
        if (!isNotFound(error)) throw error;
      }
    }
    await client.create("events", event, { signal });
  }

  /** Tries until it is written or hopeless. */
  async function writePatiently(writing: EventWriting, signal: AbortSignal): Promise<void> {
    for (let tries = 1; ; tries++) {
      try {
        return await write(writing, signal);
      } catch (error) {
        if (!isWorthRetrying(error)) return drop(writing.event, "the server refused it", error);
        if (tries === maxTries) return drop(writing.event, "the server cannot be reached", error);
        const delayMs = Math.min(slowestRetryMs, firstRetryMs * 2 ** tries) * (0.5 + random() / 2);
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
      await writePatiently(next, signal).catch(() => {});
      begun.delete(next);
      lastWriteMs = clock.now() - startedAt;
      // Stopped in the middle, it is among those that are left.
      if (!signal.aborted) queue.done(next);
      work.wake();
    }
  }

  async function writeLastWords(): Promise<void> {
    const left = queue.drain();
    try {
      await withDeadline({ clock, timeoutMs: lastWordsMs }, async (signal) => {
        for (let next = left[0]; next; next = left[0]) {
          const { event } = next;
          await write(next, signal).catch((error) => {
            if (isWorthRetrying(error)) throw error;
            drop(event, "the server refused it", error);
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
      const unheard = queue.add(correlated);
      if (unheard) drop(unheard.event, "too many events are waiting");
      work.wake();
    },
    dropped: () => dropped,
    writeMs() {
      const [oldest] = begun.values();
      return Math.max(lastWriteMs, oldest === undefined ? 0 : clock.now() - oldest);
    },
    async run(signal) {
      await Promise.all(Array.from({ length: writers }, () => writeEvents(signal)));
      await writeLastWords();
    },
  };
}

/** The server was away or overloaded. What it refuses once it would refuse again. */
function isWorthRetrying(error: unknown): boolean {
  return !(error instanceof StatusError) || error.code >= 500 || error.code === 429;
}

import type { FeedMessage } from "../../../src/monitor/feed/feed-message.ts";
import { applyMessages, emptyFeed, type FeedState } from "./feed-state.ts";
import type { Connection } from "./follow-feed.ts";

export interface FeedStore {
  state(): FeedState;
  connection(): Connection;
  /** Whether the user has a session and can log out. */
  hasSession(): boolean;
  /** Time of the server; it does not advance while the connection is lost. */
  nowMs(): number;
  push(message: FeedMessage): void;
  connect(connection: Connection): void;
  setSession(isOpen: boolean): void;
  subscribe(listener: () => void): () => void;
}

export interface FeedStoreOptions {
  localMs(): number;
  /** Runs the callback once, in a later frame. */
  schedule(flush: () => void): void;
}

/** Collects messages and notifies the page once per frame. */
export function createFeedStore({ localMs, schedule }: FeedStoreOptions): FeedStore {
  let state = emptyFeed;
  let connection: Connection = { kind: "connecting" };
  let isSessionOpen = false;
  let clock: ServerClock | undefined;
  let waiting: FeedMessage[] = [];
  let scheduled = false;
  const listeners = new Set<() => void>();
  const flush = () => {
    scheduled = false;
    if (waiting.length > 0) state = applyMessages(state, waiting);
    waiting = [];
    for (const listener of listeners) listener();
  };
  const soon = () => {
    if (!scheduled) schedule(flush);
    scheduled = true;
  };
  return {
    state: () => state,
    connection: () => connection,
    hasSession: () => isSessionOpen,
    nowMs() {
      if (!clock) return 0;
      return serverNow(clock, connection.kind === "lost" ? connection.sinceMs : localMs());
    },
    push(message) {
      clock = followServer(message.kind === "snapshot" ? undefined : clock, message.now, localMs());
      waiting.push(message);
      soon();
    },
    connect(next) {
      connection = next;
      soon();
    },
    setSession(isOpen) {
      isSessionOpen = isOpen;
      soon();
    },
    subscribe(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

/** Time of the server and the corresponding monotonic local time (`performance.now()`). */
interface ServerClock {
  readonly serverMs: number;
  readonly localMs: number;
}

const jumpMs = 2_000;

export function serverNow({ serverMs, localMs }: ServerClock, local: number): number {
  return serverMs + (local - localMs);
}

/**
 * Synchronizes the clock with a message. Delayed messages carry old times, so only later times are used and durations
 * never decrease. A time that is much older means that the server's clock was set back, and is used too.
 */
export function followServer(clock: ServerClock | undefined, serverMs: number, localMs: number): ServerClock {
  const ahead = clock ? serverMs - serverNow(clock, localMs) : 0;
  return clock && ahead <= 0 && ahead > -jumpMs ? clock : { serverMs, localMs };
}

/** Minimum time between two renderings. */
const shortestMs = 80;
/** Interval for hidden pages, which have no animation frames but still process messages. */
const hiddenMs = 1_000;

/** Schedules a callback for the next due frame. */
export function createPageSchedule(): (flush: () => void) => void {
  let lastMs = Number.NEGATIVE_INFINITY;
  return (flush) => {
    let done = false;
    const run = () => {
      if (done) return;
      done = true;
      lastMs = performance.now();
      flush();
    };
    const waitMs = Math.max(0, lastMs + shortestMs - performance.now());
    setTimeout(() => requestAnimationFrame(run), waitMs);
    setTimeout(run, waitMs + hiddenMs);
  };
}

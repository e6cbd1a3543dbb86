import type { FeedMessage } from "../../../src/monitor/feed/feed-message.ts";
import { applyMessages, emptyFeed, type FeedState } from "./feed-state.ts";
import type { Connection } from "./follow-feed.ts";
import { followServer, type ServerClock, serverNow } from "./server-clock.ts";

export interface FeedStore {
  state(): FeedState;
  connection(): Connection;
  /** Whether there is a session that can be ended. */
  hasSession(): boolean;
  /** The server's time; it stands still while nothing is heard from there. */
  nowMs(): number;
  push(message: FeedMessage): void;
  connect(connection: Connection): void;
  setSession(isOpen: boolean): void;
  subscribe(listener: () => void): () => void;
}

export interface FeedStoreOptions {
  localMs(): number;
  /** Runs it soon, once, at a moment that suits the page. */
  schedule(flush: () => void): void;
}

/** Collects messages and lets the page know once for all of them. */
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

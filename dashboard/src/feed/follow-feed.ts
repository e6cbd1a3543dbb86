import type { FeedMessage } from "../../../src/monitor/feed/feed-message.ts";
import { LoggedOutError } from "./open-feed.ts";

export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** Times are from `performance.now()`. */
  | {
      readonly kind: "lost";
      readonly sinceMs: number;
      readonly retryAtMs: number;
      readonly reason: string;
      /** Whether the user has to log in before a retry can succeed. */
      readonly isLoggedOut: boolean;
    };

export interface FollowFeedOptions {
  /** Opens the stream. It ends or throws when the connection is lost. */
  open(signal: AbortSignal): AsyncIterable<FeedMessage>;
  onMessage(message: FeedMessage): void;
  onConnection(connection: Connection): void;
  nowMs(): number;
  /** Waits for the retry. Resolves early on `wake`. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Returns a number between 0 and 1. */
  random(): number;
  readonly signal: AbortSignal;
}

const firstDelayMs = 500;
const maxDelayMs = 15_000;

/** Exponential back-off with jitter, so that many pages do not reconnect at the same time. */
export function reconnectDelayMs(failures: number, random: number): number {
  const maxMs = Math.min(maxDelayMs, firstDelayMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(maxMs * (0.7 + 0.3 * random));
}

export async function followFeed(options: FollowFeedOptions): Promise<void> {
  const { signal } = options;
  let failures = 0;
  let lostAtMs: number | undefined;
  options.onConnection({ kind: "connecting" });
  while (!signal.aborted) {
    let reason = "The server closed the connection.";
    let hasMessages = false;
    let isLoggedOut = false;
    try {
      for await (const message of options.open(signal)) {
        options.onMessage(message);
        if (!hasMessages) options.onConnection({ kind: "live" });
        hasMessages = true;
      }
    } catch (error) {
      isLoggedOut = error instanceof LoggedOutError;
      reason = error instanceof Error ? error.message : String(error);
    }
    if (signal.aborted) return;
    if (hasMessages || lostAtMs === undefined) lostAtMs = options.nowMs();
    failures = hasMessages ? 1 : failures + 1;
    const delayMs = reconnectDelayMs(failures, options.random());
    const retryAtMs = options.nowMs() + delayMs;
    options.onConnection({ kind: "lost", sinceMs: lostAtMs, retryAtMs, reason, isLoggedOut });
    await options.sleep(delayMs, signal);
  }
}

/** Sleep that can be ended early. */
export function createWakeableSleep() {
  let wakeSleeper = () => {};
  return {
    wake: () => wakeSleeper(),
    sleep: (ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        const end = () => {
          clearTimeout(timer);
          signal.removeEventListener("abort", end);
          wakeSleeper = () => {};
          resolve();
        };
        const timer = setTimeout(end, ms);
        signal.addEventListener("abort", end);
        wakeSleeper = end;
      }),
  };
}

import type { FeedMessage } from "../../../src/monitor/feed/feed-message.ts";
import { LoggedOutError } from "./open-feed.ts";

export type Connection =
  | { readonly kind: "connecting" }
  | { readonly kind: "live" }
  /** Times are of `performance.now()`. */
  | {
      readonly kind: "lost";
      readonly sinceMs: number;
      readonly retryAtMs: number;
      readonly reason: string;
      /** Trying again is of no use before somebody logs in. */
      readonly isLoggedOut: boolean;
    };

export interface FollowFeedOptions {
  /** Opens the stream; ends or throws when it is lost. */
  open(signal: AbortSignal): AsyncIterable<FeedMessage>;
  onMessage(message: FeedMessage): void;
  onConnection(connection: Connection): void;
  nowMs(): number;
  /** Also resolves early, when trying again is worth it before the time. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
  /** Between 0 and 1. */
  random(): number;
  readonly signal: AbortSignal;
}

const firstDelayMs = 500;
const longestDelayMs = 15_000;

/** Twice as long each time; a part of it by chance, so that many pages do not come back in one moment. */
export function reconnectDelayMs(failures: number, random: number): number {
  const most = Math.min(longestDelayMs, firstDelayMs * 2 ** Math.min(failures - 1, 30));
  return Math.round(most * (0.7 + 0.3 * random));
}

export async function followFeed(options: FollowFeedOptions): Promise<void> {
  const { signal } = options;
  let failures = 0;
  let lostAtMs: number | undefined;
  options.onConnection({ kind: "connecting" });
  while (!signal.aborted) {
    let reason = "The server ended the connection.";
    let heard = false;
    let isLoggedOut = false;
    try {
      for await (const message of options.open(signal)) {
        options.onMessage(message);
        if (!heard) options.onConnection({ kind: "live" });
        heard = true;
      }
    } catch (error) {
      isLoggedOut = error instanceof LoggedOutError;
      reason = error instanceof Error ? error.message : String(error);
    }
    if (signal.aborted) return;
    if (heard || lostAtMs === undefined) lostAtMs = options.nowMs();
    failures = heard ? 1 : failures + 1;
    const delayMs = reconnectDelayMs(failures, options.random());
    const retryAtMs = options.nowMs() + delayMs;
    options.onConnection({ kind: "lost", sinceMs: lostAtMs, retryAtMs, reason, isLoggedOut });
    await options.sleep(delayMs, signal);
  }
}

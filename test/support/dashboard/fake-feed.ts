import { type AsyncQueue, createAsyncQueue } from "../../../src/lib/async-queue.ts";
import { systemClock } from "../../../src/lib/clock.ts";
import { silentLogger } from "../../../src/lib/logger.ts";
import type { Feed, FeedMessage } from "../../../src/monitor/feed/feed-message.ts";
import { startMonitorServer } from "../../../src/monitor/server/monitor-server.ts";

/** The monitor's own server with the page. The test chooses the messages of the feed. */
export interface FakeFeed {
  readonly url: string;
  send(change: Omit<Extract<FeedMessage, { kind: "change" }>, "kind">): void;
  /** Sets the snapshot that new pages get, and sends it to the connected ones. */
  snapshot(feed: Feed): void;
  /** Closes every connection, and rejects new ones until `welcome`. */
  drop(): void;
  welcome(): void;
  close(): Promise<void>;
}

export async function startFakeFeed(page: string, first: Feed): Promise<FakeFeed> {
  const pages = new Set<AsyncQueue<string>>();
  let feed = first;
  let isOpen = true;
  const emit = (message: FeedMessage) => {
    const text = JSON.stringify(message);
    for (const each of pages) each.push(text);
  };
  const server = await startMonitorServer({
    listen: { host: "127.0.0.1", port: 0 },
    dashboardDir: page,
    client: { request: () => Promise.reject(new Error("no reviews on loopback")) },
    clock: systemClock,
    logger: silentLogger,
    parts: {
      subscribe(signal) {
        if (!isOpen) return undefined;
        const messages = createAsyncQueue<string>({ capacity: 10_000 });
        messages.push(JSON.stringify({ kind: "snapshot", ...feed } satisfies FeedMessage));
        pages.add(messages);
        signal.addEventListener("abort", () => {
          pages.delete(messages);
          messages.end();
        });
        return messages;
      },
      scrape: () => ({ contentType: "text/plain", body: "" }),
      report: () => ({}),
    },
  });
  return {
    url: `${server.url}/`,
    send: (change) => emit({ kind: "change", ...change }),
    snapshot(next) {
      feed = next;
      emit({ kind: "snapshot", ...feed });
    },
    drop() {
      isOpen = false;
      for (const each of pages) each.end();
    },
    welcome() {
      isOpen = true;
    },
    close: server.close,
  };
}

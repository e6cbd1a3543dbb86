import { type AsyncQueue, createAsyncQueue } from "../../src/lib/async-queue.ts";
import { systemClock } from "../../src/lib/clock.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import type { Feed, FeedMessage } from "../../src/monitor/feed/feed-message.ts";
import { startMonitorServer } from "../../src/monitor/server/monitor-server.ts";

/** The monitor's own server with the page; what the page hears is up to the test. */
export interface FakeFeed {
  readonly url: string;
  send(change: Omit<Extract<FeedMessage, { kind: "change" }>, "kind">): void;
  /** What a page that connects hears first, and what those that listen now hear at once. */
  snapshot(feed: Feed): void;
  /** Ends every connection; whoever comes again is turned away until `welcome`. */
  drop(): void;
  welcome(): void;
  close(): Promise<void>;
}

export async function startFakeFeed(page: string, first: Feed): Promise<FakeFeed> {
  const pages = new Set<AsyncQueue<string>>();
  let feed = first;
  let isOpen = true;
  const tell = (message: FeedMessage) => {
    const text = JSON.stringify(message);
    for (const each of pages) each.push(text);
  };
  const server = await startMonitorServer({
    listen: { host: "127.0.0.1", port: 0 },
    page,
    client: { request: () => Promise.reject(new Error("nobody is asked on loopback")) },
    clock: systemClock,
    logger: silentLogger,
    parts: {
      follow(signal) {
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
    send: (change) => tell({ kind: "change", ...change }),
    snapshot(next) {
      feed = next;
      tell({ kind: "snapshot", ...feed });
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

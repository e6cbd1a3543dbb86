import { Gauge, type Registry } from "prom-client";
import type { LiveFeed } from "./create-feed.ts";

/** What those who look at the page cost, read from the feed at each scrape. */
export function registerFeedMetrics(registry: Registry, { load }: Pick<LiveFeed, "load">): void {
  new Gauge({
    name: "kindling_feed_followers",
    help: "Pages and programs that follow the feed",
    registers: [registry],
    collect() {
      this.set(load().followers);
    },
  });
  new Gauge({
    name: "kindling_feed_held_bytes",
    help: "Messages of the feed that are kept for those who have not read them yet",
    registers: [registry],
    collect() {
      this.set(load().heldLength);
    },
  });
}

import type { Metrics } from "../../lib/metrics.ts";
import type { LiveFeed } from "./create-feed.ts";

/** What those who look at the page cost, read from the feed at each scrape. */
export function registerFeedMetrics(metrics: Metrics, { load }: Pick<LiveFeed, "load">): void {
  const followers = { name: "kindling_feed_followers", help: "Pages and programs that follow the feed" };
  metrics.gauge(followers, () => [[{}, load().followers]]);
  const held = {
    name: "kindling_feed_held_bytes",
    help: "Messages of the feed that are kept for those who have not read them yet",
  };
  metrics.gauge(held, () => [[{}, load().heldLength]]);
}

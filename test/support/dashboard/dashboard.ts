import type { Browser, Page } from "playwright-core";
import { afterAll, afterEach, beforeAll, expect } from "vitest";
import type { Feed } from "../../../src/monitor/feed/feed-message.ts";
import { launchBrowser, type PageOptions, watchPage } from "./browser.ts";
import { buildDashboard } from "./build-dashboard.ts";
import { type FakeFeed, startFakeFeed } from "./fake-feed.ts";

interface Dashboard {
  /** Where the built page lies. */
  readonly folder: string;
  readonly browser: Browser;
  /** The page, in a browser, with its own feed. Errors on the page fail the test when it finishes. */
  open(feed: Feed, options?: PageOptions): Promise<{ page: Page; feed: FakeFeed }>;
  /** The page as another server serves it. */
  visit(url: string, options?: PageOptions): Promise<Page>;
}

/** Filled before the first test. */
export function useDashboard(): Dashboard {
  const opened: { readonly page: Page; readonly misdeeds: readonly string[] }[] = [];
  const feeds: FakeFeed[] = [];
  const visit = async (url: string, options: PageOptions = {}) => {
    const watched = await watchPage(dashboard.browser, url, options);
    opened.push(watched);
    return watched.page;
  };
  const dashboard = {
    visit,
    async open(first: Feed, options: PageOptions = {}) {
      const feed = await startFakeFeed(dashboard.folder, first);
      feeds.push(feed);
      return { page: await visit(feed.url, options), feed };
    },
  } as Dashboard;
  beforeAll(async () => {
    Object.assign(dashboard, { folder: await buildDashboard(), browser: await launchBrowser() });
  });
  afterEach(async () => {
    const all = opened.splice(0);
    for (const { page } of all) await page.context().close();
    for (const feed of feeds.splice(0)) await feed.close();
    expect(all.flatMap(({ misdeeds }) => misdeeds)).toEqual([]);
  });
  afterAll(() => dashboard.browser?.close());
  return dashboard;
}

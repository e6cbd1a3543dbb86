import { expect, test } from "vitest";
import type { PodView } from "../../src/monitor/feed/feed-message.ts";
import { describeInBrowser } from "../support/dashboard/browser.ts";
import { useDashboard } from "../support/dashboard/dashboard.ts";
import { emptyFeed } from "../support/dashboard/sample-feed.ts";
import { samplePod, samplePull } from "../support/dashboard/sample-pod.ts";

const count = 5_000;
const now = Date.now();

function manyPods(part: number, which: (i: number) => boolean = () => true): readonly PodView[] {
  return Array.from({ length: count }, (_, i) => i)
    .filter(which)
    .map((i) =>
      samplePod(now, {
        uid: `pod-${i}`,
        name: `web-${i}`,
        createdMs: now - 60_000 + i,
        pulls: i % 3 === 0 ? [samplePull(now, part)] : [],
      }),
    );
}

const measure = `
  window.longTasks = [];
  window.frames = [];
  new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((e) => e.duration)))
    .observe({ type: "longtask", buffered: true });
  window.countFrames = () => {
    let last = performance.now();
    const next = (at) => { frames.push(at - last); last = at; requestAnimationFrame(next); };
    requestAnimationFrame(next);
  };`;
const longest = "Math.round(Math.max(0, ...longTasks))";

describeInBrowser(`${count} pods that start at once`, () => {
  const dashboard = useDashboard();

  test("renders only visible rows, scrolls through the whole list, and applies changes", async () => {
    const { page, feed } = await dashboard.open({ ...emptyFeed(now), starting: manyPods(0.1) });
    await page.addInitScript(measure);
    await page.reload();
    const rows = page.getByRole("option");
    await rows.first().waitFor();
    await page.getByRole("tab", { name: "Starting 5,000" }).waitFor();
    const paint = await page.evaluate(
      "Math.round(performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? NaN)",
    );
    const loading = await page.evaluate(longest);
    expect(await rows.count()).toBeLessThan(40);

    // A tenth of them changes repeatedly while the page scrolls.
    await page.evaluate("longTasks.length = 0; countFrames()");
    await page.mouse.move(600, 400);
    for (let step = 1; step <= 20; step++) {
      feed.send({ now: now + step * 100, starting: manyPods(0.1 + step / 50, (i) => i % 10 === step % 10) });
      await page.mouse.wheel(0, 1_500);
    }
    const [churning, frame] = await page.evaluate<[number, number]>(
      `[${longest}, Math.round(frames.sort((a, b) => a - b)[Math.floor(frames.length * 0.95)])]`,
    );
    console.log(
      `${count} pods: first paint ${paint} ms; longest task while loading ${loading} ms, ` +
        `while ${count / 10} change at a time and it scrolls ${churning} ms; 95 % of frames within ${frame} ms`,
    );
    expect(await rows.count()).toBeLessThan(40);

    await page.getByRole("listbox").press("End");
    await page.getByRole("option", { name: `web-${count - 1},` }).waitFor();
    expect(await page.locator("[role=option][aria-selected=true]").getAttribute("aria-posinset")).toBe(
      `${count}`,
    );
    feed.send({ now: now + 3_000, gone: manyPods(0, (i) => i > 0).map(({ uid }) => uid) });
    await expect.poll(() => rows.count()).toBe(1);
    await page.getByRole("searchbox").fill("web-0");
    await page.getByRole("option", { name: "shop/web-0" }).waitFor();
  });
});

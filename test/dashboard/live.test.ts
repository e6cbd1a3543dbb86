import { expect, test } from "vitest";
import { describeInBrowser } from "../support/dashboard/browser.ts";
import { useDashboard } from "../support/dashboard/dashboard.ts";
import { emptyFeed } from "../support/dashboard/sample-feed.ts";
import { sampleFinished } from "../support/dashboard/sample-finished.ts";
import { samplePod, samplePull } from "../support/dashboard/sample-pod.ts";

// Far from the browser's own time: what counts up does so by the server's clock.
const start = Date.parse("2031-05-06T07:08:09Z");

describeInBrowser("a page that follows pods", () => {
  const dashboard = useDashboard();

  test("a waterfall is updated live, continues with the next stage, and disappears when the start is over", async () => {
    const createdMs = start - 20_000;
    const waiting = samplePod(start, {
      createdMs,
      spans: [{ name: "scheduling", startMs: createdMs, endMs: undefined }],
    });
    const { page, feed } = await dashboard.open({ ...emptyFeed(start), starting: [waiting] });
    const row = page.getByRole("option", { name: "shop/web-0" });
    const filled = async () => (await row.locator(".segment").last().boundingBox())?.width ?? 0;
    const first = await filled();
    expect(await row.locator(".row-elapsed").textContent()).toMatch(/^[\d.]+ s$|^\d min/);
    await expect.poll(filled).toBeGreaterThan(first);

    feed.send({
      now: start + 10_000,
      starting: [
        samplePod(start, {
          createdMs,
          spans: [
            { name: "scheduling", startMs: createdMs, endMs: start + 500 },
            { name: "volumes and sandbox", startMs: start + 500, endMs: undefined },
          ],
        }),
      ],
    });
    await expect.poll(() => row.locator(".segment").count()).toBe(2);
    await row.click();
    const detail = page.getByRole("complementary", { name: "Pod shop/web-0" });
    await detail.getByRole("row", { name: "scheduling 20.5 s" }).waitFor();
    await detail.getByRole("row", { name: /volumes and sandbox .* so far/ }).waitFor();

    feed.send({ now: start + 12_000, gone: [waiting.uid], finished: sampleFinished(start, 1) });
    await page.getByText("No pods are starting.").waitFor();
    await page.getByRole("tab", { name: "Finished 1" }).waitFor();
  });

  test("a pull shows its rate, remaining time and layers; a stalled pull is marked", async () => {
    const pulling = (part: number) => [samplePod(start, { pulls: [samplePull(start, part)] })];
    const { page, feed } = await dashboard.open({ ...emptyFeed(start), starting: pulling(0.1) });
    const row = page.getByRole("option", { name: "shop/web-0" });
    // 7.8 MiB in the three seconds since it began.
    await row.getByText(/^2\.6 MiB\/s · \d+ s left$/).waitFor();
    feed.send({ now: start + 1_000, starting: pulling(0.2) });
    feed.send({ now: start + 2_000, starting: pulling(0.3) });
    await row.getByText(/^4\.7 MiB\/s · \d+ s left$/).waitFor();

    await row.click();
    const layers = page.getByRole("table", { name: "Layers of registry.example/shop/web:2.1" });
    await layers.getByRole("row", { name: /b7e2d90c11 15\.1 of 45\.8 MiB 5\.0 MiB\/s/ }).waitFor();
    await layers.getByRole("row", { name: "3fe1a02c77 already present" }).waitFor();
    await layers.getByRole("row", { name: "e91c66d20b 0.0 of 5.7 MiB waiting" }).waitFor();
    feed.send({ now: start + 14_000, starting: pulling(0.3) });
    await row.getByText(/^no progress for [1-5]\d(\.\d)? s$/).waitFor();
  });

  test("a startup probe's failures are shown with its budget", async () => {
    const probe = { container: "web", failures: 7, threshold: 30, periodSeconds: 5 };
    const { page, feed } = await dashboard.open({
      ...emptyFeed(start),
      starting: [samplePod(start, { stage: "starting", probes: [probe] })],
    });
    const row = page.getByRole("option");
    await row.getByText("7 of 30").waitFor();
    feed.send({
      now: start,
      starting: [samplePod(start, { stage: "starting", probes: [{ ...probe, failures: 8 }] })],
    });
    await row.getByText("8 of 30").waitFor();
    await expect.poll(() => row.locator(".pip.is-spent").count()).toBe(8);
    await row.click();
    await page.getByText("8 of 30 failures, one attempt every 5 s, 1 min 50 s left").waitFor();
  });

  test("a lost connection is shown, the view freezes, and the page reconnects automatically", async () => {
    const { page, feed } = await dashboard.open({ ...emptyFeed(start), starting: [samplePod(start)] });
    await page.getByText("Live", { exact: true }).waitFor();
    feed.drop();
    await page.getByText("Connection lost.").waitFor();
    await page.getByText("The server responded with status 503.").waitFor();
    const elapsed = page.locator(".row-elapsed");
    const stood = await elapsed.textContent();
    // Seconds go by in the banner, and none in the list.
    const banner = () => page.locator(".lost").textContent();
    const before = await banner();
    await expect.poll(banner).not.toBe(before);
    expect(await elapsed.textContent()).toBe(stood);

    feed.welcome();
    feed.snapshot({ ...emptyFeed(start + 60_000), starting: [samplePod(start, { name: "web-9" })] });
    // It may reconnect before that.
    await page
      .getByRole("button", { name: "Try now" })
      .click({ timeout: 5_000 })
      .catch(() => {});
    await page.getByRole("option", { name: "shop/web-9" }).waitFor();
    await expect.poll(() => page.getByText("Connection lost.").count()).toBe(0);
  });

  test("an unauthenticated user is shown what to do", async () => {
    const { page } = await dashboard.open(emptyFeed(start));
    await page.route("**/api/feed", (route) => route.fulfill({ status: 401 }));
    await page.reload();
    await page.getByText("Your session has ended.").waitFor();
    expect(await page.getByRole("link", { name: "Log in" }).getAttribute("href")).toBe("login");
  });

  test("an empty cluster shows instructions in each view", async () => {
    const { page } = await dashboard.open(emptyFeed(start));
    for (const [tab, words] of [
      ["Starting", "No pods are starting."],
      ["Finished", "No starts have finished yet."],
      ["StatefulSets", "There are no StatefulSets."],
      ["SLOs", "No objectives are configured."],
      ["Nodes", "No nodes are registered."],
      ["Events", "There are no events yet."],
    ] as const) {
      await page.getByRole("tab", { name: tab }).click();
      await page.getByRole("heading", { name: words }).waitFor();
    }
  });
});

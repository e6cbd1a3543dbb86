import { expect, test } from "vitest";
import { describeInBrowser } from "../support/dashboard/browser.ts";
import { useDashboard } from "../support/dashboard/dashboard.ts";
import { sampleFeed } from "../support/dashboard/sample-feed.ts";

describeInBrowser("views", () => {
  const dashboard = useDashboard();

  test("SLOs: the worst first, with remaining budget, burn rate and breaches by class", async () => {
    const { page } = await dashboard.open(sampleFeed(Date.now()));
    await page.getByRole("tab", { name: "SLOs" }).click();
    await expect
      .poll(() => page.getByRole("heading", { level: 2 }).allTextContents())
      .toEqual(["sandbox-success", "first-container", "starts-in-10s"]);
    const card = page.locator("section.slo").first();
    expect(await card.locator(".budget").textContent()).toBe("Overspent by 36 % · burn rate 14");
    await card.getByRole("row", { name: "StorageClass standard 6 of 1,055" }).waitFor();
    await page.getByRole("tab", { name: "SLOs" }).getByText("1 spent").waitFor({ state: "attached" });
  });

  test("nodes: unready nodes first, with the pods that start on them", async () => {
    const { page } = await dashboard.open(sampleFeed(Date.now()));
    await page.getByRole("tab", { name: "Nodes" }).click();
    await expect
      .poll(() => page.getByRole("row").allTextContents())
      .toEqual([
        "NodeHealthStartingPodsRuntimeKubelet",
        "node-3not ready217containerd://2.1.9v1.35.2",
        "node-1ready341kindling://0.1.0v1.36.0",
        "node-2ready238containerd://2.1.9v1.36.0",
      ]);
  });

  test("finished starts: how they spread over time, the slowest with their slowest stage, and by class", async () => {
    const feed = sampleFeed(Date.now());
    const { page } = await dashboard.open(feed);
    await page.getByRole("tab", { name: "Finished 900" }).click();
    await page.getByRole("img", { name: /^\d+ starts over time: half of them took up to/ }).waitFor();
    const longest = feed.finished.toSorted((a, b) => b.readyMs - b.createdMs - (a.readyMs - a.createdMs))[0];
    const slowest = page.locator("section", { has: page.getByRole("heading", { name: "Slowest starts" }) });
    expect(await slowest.getByRole("rowheader").first().textContent()).toContain(longest?.name);
    for (const by of ["Namespace", "Owner", "RuntimeClass", "StorageClass", "Node"]) {
      await page.getByRole("button", { name: by, exact: true }).click();
      await page.getByRole("columnheader", { name: by, exact: true }).waitFor();
    }
  });
});

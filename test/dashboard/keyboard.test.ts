import type { Page } from "playwright-core";
import { expect, test } from "vitest";
import { describeInBrowser } from "../support/dashboard/browser.ts";
import { useDashboard } from "../support/dashboard/dashboard.ts";
import { sampleFeed } from "../support/dashboard/sample-feed.ts";

const focused = (page: Page) =>
  page.evaluate<string>(
    "(() => { const e = document.activeElement; return e.getAttribute('role') ?? e.id ?? e.tagName; })()",
  );
const ring = (page: Page) => page.evaluate<string>("getComputedStyle(document.activeElement).outlineStyle");

describeInBrowser("without a mouse", () => {
  const dashboard = useDashboard();

  test("tabs by arrow keys, pods by arrow keys, the filter by a slash, and the focus is always seen", async () => {
    const { page } = await dashboard.open(sampleFeed(Date.now()));
    await page.getByRole("option").first().waitFor();

    await page.keyboard.press("Tab");
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("Skip to the content");
    await page.keyboard.press("Enter");
    await expect.poll(() => focused(page)).toBe("tabpanel");

    await page.keyboard.press("/");
    await expect.poll(() => page.evaluate("document.activeElement.type")).toBe("search");
    await expect.poll(() => ring(page)).toBe("solid");
    await page.keyboard.press("Tab");
    await expect.poll(() => focused(page)).toBe("tab");
    await expect.poll(() => ring(page)).toBe("solid");

    const selected = () => page.locator("[role=tab][aria-selected=true]").textContent();
    await page.keyboard.press("ArrowRight");
    await expect.poll(selected).toMatch(/^Finished/);
    await page.keyboard.press("End");
    await expect.poll(selected).toMatch(/^Events/);
    await page.keyboard.press("ArrowRight");
    await expect.poll(selected).toMatch(/^Starting/);
    await expect.poll(() => focused(page)).toBe("tab");

    await page.getByRole("listbox").focus();
    await page.keyboard.press("ArrowDown");
    const chosen = page.locator("[role=option][aria-selected=true]");
    await expect.poll(() => chosen.getAttribute("aria-posinset")).toBe("1");
    await page.keyboard.press("End");
    await expect.poll(() => chosen.getAttribute("aria-posinset")).toBe("8");
    await expect.poll(() => page.getByRole("listbox").getAttribute("aria-activedescendant")).toBe("pod-7");
    await expect.poll(() => page.getByRole("complementary").count()).toBe(1);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("complementary").count()).toBe(0);
  });

  test("rows, strips, plots and the count have accessible names", async () => {
    const { page } = await dashboard.open(sampleFeed(Date.now()));
    const label = await page.getByRole("option", { name: "search-2" }).getAttribute("aria-label");
    expect(label).toBe(
      "shop/search-2, starting. Container search runs; its startup probe has failed 7 of 30 times. " +
        "Stages: scheduling 400 ms, volumes and sandbox 2.7 s, init restore 6.2 s, images and containers 2.4 s, until ready under way.",
    );
    await expect.poll(() => page.locator("[aria-live]").allTextContents()).toEqual(["8 pods are starting"]);
    await page.getByRole("tab", { name: "Finished" }).click();
    await page.getByRole("img", { name: /^\d+ starts over time: half of them took up to/ }).waitFor();
    await page.getByRole("tab", { name: "StatefulSets" }).click();
    await page.getByRole("img", { name: /^2 of 5 ready, 2 on the newest revision. 2 failing;/ }).waitFor();
  });

  test("the filter applies to every view, and an empty result is reported", async () => {
    const { page } = await dashboard.open(sampleFeed(Date.now()));
    const box = page.getByRole("searchbox");
    await box.fill("shop web");
    await expect.poll(() => page.getByRole("option").count()).toBe(2);
    await page.getByRole("tab", { name: "StatefulSets" }).click();
    await expect.poll(() => page.getByRole("heading", { level: 2 }).allTextContents()).toEqual(["web shop"]);
    await page.getByRole("tab", { name: "Events" }).click();
    await expect.poll(() => page.getByRole("row").count()).toBe(4);
    await box.fill("nothing-like-it");
    await page.getByText("Nothing matches “nothing-like-it”.").waitFor();
    await page.getByRole("button", { name: "Clear the filter" }).click();
    await expect.poll(() => page.getByRole("row").count()).toBe(7);
  });

  test("two revisions of a workload are compared, and a class is picked out of the plot", async () => {
    const { page } = await dashboard.open(sampleFeed(Date.now()));
    await page.getByRole("tab", { name: "Finished" }).click();
    await page.getByLabel("Workload").selectOption("shop/StatefulSet/web");
    const compared = page.locator(".compare");
    await compared.getByRole("row", { name: /^Images and containers .*\+\d+ %$/ }).waitFor();
    await page.getByRole("button", { name: "StorageClass" }).click();
    const group = page.getByRole("button", { name: "fast-ssd" });
    await group.click();
    await expect.poll(() => group.getAttribute("aria-pressed")).toBe("true");
    await expect.poll(() => page.locator(".plot-dots.is-shade").count()).toBe(1);
  });
});

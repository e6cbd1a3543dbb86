import { expect, test } from "vitest";
import { describeInBrowser } from "../support/dashboard/browser.ts";
import { useDashboard } from "../support/dashboard/dashboard.ts";
import { sampleFeed } from "../support/dashboard/sample-feed.ts";
import { checkLooks } from "./check-looks.ts";

const tabs = ["Starting", "Finished", "StatefulSets", "SLOs", "Nodes", "Events"] as const;
describeInBrowser("looks", () => {
  const dashboard = useDashboard();

  test.each([
    { colorScheme: "light", width: 1_280, height: 800, name: "light" },
    { colorScheme: "dark", width: 1_280, height: 800, name: "dark" },
    { colorScheme: "light", width: 360, height: 740, name: "phone" },
    { colorScheme: "dark", width: 360, height: 740, name: "phone-dark" },
  ] as const)("$name: every view can be read and fits", async ({ name, ...options }) => {
    const { page } = await dashboard.open(sampleFeed(Date.now()), options);
    await page.getByRole("option", { name: "web-0" }).click();
    await page.getByRole("complementary").waitFor();
    await checkLooks(page, `pod-${name}`);
    await page.keyboard.press("Escape");
    await expect.poll(() => page.getByRole("complementary").count()).toBe(0);
    for (const tab of tabs) {
      await page.getByRole("tab", { name: tab }).click();
      await expect
        .poll(() => page.getByRole("tabpanel").getAttribute("aria-labelledby"))
        .toBe(`tab-${tab.toLowerCase()}`);
      await checkLooks(page, `${tab.toLowerCase()}-${name}`);
    }
  });
});

import { expect, test } from "vitest";
import type { Feed } from "../../src/monitor/feed/feed-message.ts";
import { describeInBrowser } from "../support/dashboard/browser.ts";
import { useDashboard } from "../support/dashboard/dashboard.ts";
import { sampleFeed } from "../support/dashboard/sample-feed.ts";

const attack = `<img src=x onerror="alert(1)"><script>alert(2)</script>"'\`\${alert(3)}{{4}}&lt;</style>`;
/** Values that the server chooses from a closed set or parses itself. */
const closed = new Set(["kind", "stage", "health", "startedAt", "time"]);

/** Replaces every text that users control with an attack. */
function poison<T>(value: T, key = ""): T {
  if (typeof value === "string") return (closed.has(key) ? value : `${attack}${value}`) as T;
  if (Array.isArray(value)) return value.map((each) => poison(each, key)) as T;
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, poison(each, name)])) as T;
}

describeInBrowser("hostile texts", () => {
  const dashboard = useDashboard();

  test("names and messages are shown as text in every view", async () => {
    const now = Date.now();
    const poisoned = poison<Feed>(sampleFeed(now));
    // No API server lets such names through; an attacker's own might.
    const named = { ...poisoned.starting[0], uid: "__proto__", namespace: "constructor", name: "\u202e<b>" };
    const starting = [...poisoned.starting, named as Feed["starting"][number]];
    const { page } = await dashboard.open({ ...poisoned, starting });
    const injected = () => page.locator("img, #app script, iframe, [onerror], b, style").count();

    await page.getByRole("option").first().click();
    const detail = page.getByRole("complementary");
    await detail.waitFor();
    expect(await detail.textContent()).toContain(`${attack}Container ledger ended`);
    for (const tab of ["Starting", "Finished", "StatefulSets", "SLOs", "Nodes", "Events"]) {
      await page.getByRole("tab", { name: tab }).click();
      await expect.poll(() => page.getByRole("tabpanel").textContent()).toContain(attack);
      expect(await injected()).toBe(0);
    }
  });

  test("a copied command is one line without invisible characters", async () => {
    const now = Date.now();
    const [pod] = sampleFeed(now).starting;
    if (!pod) throw new Error("the sample has pods");
    const fix = "read what it said: kubectl logs web\u202e-0\n; rm -rf /\r\u0000 -c web";
    const { page } = await dashboard.open({ ...sampleFeed(now), starting: [{ ...pod, fix }] });
    await page.context().grantPermissions(["clipboard-read", "clipboard-write"]);
    await page.getByRole("option").click();
    // The message is shown for two seconds only: a later check may miss it.
    await Promise.all([
      page.getByRole("button", { name: /^Copy/ }).getByText("Copied").waitFor(),
      page.getByRole("button", { name: /^Copy: kubectl logs/ }).click(),
    ]);
    // Lines of a fix are separate fixes, so the second line is not part of the command.
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe("kubectl logs web -0");
  });
});

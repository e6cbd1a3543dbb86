import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client } from "../../src/client/api/client.ts";
import { connectCluster } from "../../src/client/api/create-client.ts";
import { silentLogger } from "../../src/lib/logger.ts";
import { createManualClock } from "../../src/lib/manual-clock.ts";
import { type MonitorServer, startMonitorServer } from "../../src/monitor/server/monitor-server.ts";
import { describeInBrowser } from "../support/dashboard/browser.ts";
import { useDashboard } from "../support/dashboard/dashboard.ts";
import { sampleFeed } from "../support/dashboard/sample-feed.ts";
import { startTestServer, type TestServer } from "../support/servers/api-server.ts";
import { checkLooks } from "./check-looks.ts";

const viewerToken = "viewers-token-is-a-secret";
const otherToken = "others-token-is-a-secret";
/** A name that would be markup if it were not escaped. */
const otherUser = "<b onclick=alert(1)>other</b>";
const group = "rbac.authorization.k8s.io";

describeInBrowser("login from addresses other than loopback", () => {
  const dashboard = useDashboard();
  const clock = createManualClock(Date.now());
  let dataDir: string;
  let api: TestServer;
  let client: Client;
  let server: MonitorServer;
  let url: string;

  beforeAll(async () => {
    dataDir = await mkdtemp(join(tmpdir(), "kindling-login-"));
    const tokens = `${viewerToken},viewer,1\n${otherToken},${otherUser},2\n`;
    api = await startTestServer({ dataDir, tokens });
    client = await connectCluster({ kubeconfig: api.kubeconfig });
    const base = { apiVersion: `${group}/v1`, metadata: { name: "viewer" } };
    const rules = [{ nonResourceURLs: ["/kindling/dashboard"], verbs: ["get"] }];
    await api.json("POST", `/apis/${group}/v1/clusterroles`, { ...base, kind: "ClusterRole", rules });
    await api.json("POST", `/apis/${group}/v1/clusterrolebindings`, {
      ...base,
      kind: "ClusterRoleBinding",
      roleRef: { apiGroup: group, kind: "ClusterRole", name: "viewer" },
      subjects: [{ apiGroup: group, kind: "User", name: "viewer" }],
    });
    server = await startMonitorServer({
      listen: { host: "0.0.0.0", port: 0 },
      dashboardDir: dashboard.folder,
      client,
      clock,
      logger: silentLogger,
      parts: {
        async *subscribe(signal) {
          yield JSON.stringify({ kind: "snapshot", ...sampleFeed(Date.now()) });
          await new Promise((resolve) => signal.addEventListener("abort", resolve));
        },
        scrape: () => ({ contentType: "text/plain", body: "" }),
        report: () => ({}),
      },
    });
    url = `${server.url.replace("0.0.0.0", "127.0.0.1")}/`;
  });
  afterAll(async () => {
    await server?.close();
    client?.close();
    await api?.close();
    await rm(dataDir, { recursive: true, force: true });
  });

  const field = (page: Page) => page.getByLabel("Bearer token");
  const focusedId = (page: Page) => page.evaluate<string>("document.activeElement.id");
  async function logIn(page: Page, token: string): Promise<void> {
    await field(page).fill(token);
    await page.keyboard.press("Enter");
  }

  test("keyboard: the field has the focus, Enter logs in, and a button logs out", async () => {
    const page = await dashboard.visit(url);
    expect(page.url()).toBe(`${url}login`);
    expect(await page.title()).toBe("Log in · Kindling");
    await expect.poll(() => focusedId(page)).toBe("token");
    await page.keyboard.type(`Bearer ${viewerToken}`);
    await page.keyboard.press("Tab");
    await expect.poll(() => page.evaluate("document.activeElement.textContent")).toBe("Log in");
    await expect
      .poll(() => page.evaluate("getComputedStyle(document.activeElement).outlineStyle"))
      .toBe("solid");
    await page.keyboard.press("Enter");
    await page.getByRole("option", { name: "web-0" }).waitFor();
    expect(page.url()).toBe(url);
    await checkLooks(page, "session-light");

    await page.getByRole("button", { name: "Log out" }).press("Enter");
    await page.waitForURL(`${url}login`);
    await page.goto(url);
    expect(page.url()).toBe(`${url}login`);
  });

  test.each([
    ["is unknown", "unknown-token", /^The cluster does not accept this token\. /],
    [
      "is not authorized",
      otherToken,
      /^User <b onclick=alert\(1\)>other<\/b> is not allowed to see this dashboard\. /,
    ],
    ["is two words", "two words", /^A token contains no spaces/],
  ])("a token that %s: the problem is shown and associated with the field", async (_, token, problem) => {
    const page = await dashboard.visit(url);
    await logIn(page, token);
    const alert = page.getByRole("alert");
    expect(await alert.textContent()).toMatch(problem);
    expect(await page.title()).toBe("Not logged in · Kindling");
    await expect.poll(() => focusedId(page)).toBe("token");
    expect(await field(page).getAttribute("aria-invalid")).toBe("true");
    expect(await field(page).getAttribute("aria-describedby")).toBe("problem hint");
    await logIn(page, viewerToken);
    await page.getByRole("option", { name: "web-0" }).waitFor();
  });

  test("a page whose session was ended elsewhere reports it and shows the form", async () => {
    const page = await dashboard.visit(url);
    await logIn(page, viewerToken);
    await page.getByRole("option", { name: "web-0" }).waitFor();
    const other = await page.context().newPage();
    await other.goto(url);
    await other.getByRole("button", { name: "Log out" }).click();
    await other.waitForURL(`${url}login`);
    await clock.advance(16_000);
    await page.getByText("Your session has ended.").waitFor();
    await checkLooks(page, "session-over-light");
    await page.getByRole("link", { name: "Log in" }).click();
    await logIn(page, viewerToken);
    await page.getByRole("option", { name: "web-0" }).waitFor();
  });

  test.each([
    { colorScheme: "light", width: 1_280, height: 800, name: "light" },
    { colorScheme: "dark", width: 1_280, height: 800, name: "dark" },
    { colorScheme: "light", width: 360, height: 740, name: "phone" },
    { colorScheme: "dark", width: 360, height: 740, name: "phone-dark" },
  ] as const)("$name: the form can be read and fits", async ({ name, ...options }) => {
    const page = await dashboard.visit(url, options);
    await checkLooks(page, `login-${name}`);
    await logIn(page, otherToken);
    await page.getByRole("alert").waitFor();
    await checkLooks(page, `login-refused-${name}`);
  });
});

import { type Browser, chromium, type Page } from "playwright-core";
import { describeWithTool, toolPath } from "../programs/tools.ts";

/** Chromium drops all that it is loading when an address comes or goes on the machine; tests of networks do that. */
let hasNetworkChanged = false;

/** Tests in a browser; one whose requests were dropped for that reason, and no other, is tried again. */
export function describeInBrowser(name: string, body: () => void): void {
  const condition = () => {
    const isExcused = hasNetworkChanged;
    hasNetworkChanged = false;
    return isExcused;
  };
  describeWithTool("chromium", name, body, { retry: { count: 9, condition } });
}

/** What is waited for comes; on a busy machine it takes longer than Playwright's half a minute. */
const timeoutMs = 60_000;

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: toolPath("chromium"),
    timeout: timeoutMs,
    // Tests run as root in containers, where Chromium's own sandbox cannot be set up.
    args: ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-dev-shm-usage"],
  });
}

export interface WatchedPage {
  readonly page: Page;
  /** What no page of ours may do: errors, dialogs, breaches of the policy, requests to elsewhere. */
  readonly misdeeds: readonly string[];
}

export interface PageOptions {
  readonly width?: number;
  readonly height?: number;
  readonly colorScheme?: "light" | "dark";
}

export async function watchPage(
  browser: Browser,
  url: string,
  { width = 1_280, height = 800, colorScheme = "light" }: PageOptions = {},
): Promise<WatchedPage> {
  const context = await browser.newContext({
    viewport: { width, height },
    colorScheme,
    // Servers elsewhere than on loopback sign their own certificates.
    ignoreHTTPSErrors: true,
  });
  context.setDefaultTimeout(timeoutMs);
  const page = await context.newPage();
  const misdeeds: string[] = [];
  page.on("pageerror", (error) => misdeeds.push(`error: ${error.stack ?? error.message}`));
  page.on("console", (message) => {
    // Chromium itself reports each answer that is an error, and each lost connection; tests make those on purpose.
    if (message.type() === "error" && !/^Failed to load resource|net::ERR_/.test(message.text())) {
      misdeeds.push(`console: ${message.text()}`);
    }
  });
  page.on("dialog", (dialog) => {
    misdeeds.push(`dialog: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on("request", (request) => {
    const asked = request.url();
    if (!asked.startsWith(url) && !asked.startsWith("data:")) misdeeds.push(`request: ${asked}`);
  });
  await page.exposeFunction("reportBreach", (what: string) => misdeeds.push(`policy: ${what}`));
  await page.addInitScript(
    'document.addEventListener("securitypolicyviolation", (event) => reportBreach(event.violatedDirective + " " + event.blockedURI));',
  );
  page.on("requestfailed", (request) => {
    if (request.failure()?.errorText !== "net::ERR_NETWORK_CHANGED") return;
    hasNetworkChanged = true;
    // The page retries only its feed. Closing it ends a wait for another response at once.
    if (!request.url().endsWith("/api/feed")) page.close().catch(() => {});
  });
  await page.goto(url);
  return { page, misdeeds };
}

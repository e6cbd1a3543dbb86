import { type Browser, chromium, type Page } from "playwright-core";
import { toolPath } from "./tools.ts";

export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath: toolPath("chromium"),
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
  const context = await browser.newContext({ viewport: { width, height }, colorScheme });
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
  await page.goto(url);
  return { page, misdeeds };
}

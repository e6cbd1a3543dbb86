import { join } from "node:path";
import type { Page } from "playwright-core";
import { expect } from "vitest";

/** Directory for a screenshot of each view. The images in docs/images are made this way. */
const pictures = process.env.KINDLING_SCREENSHOTS;

/** Texts whose contrast is below the WCAG minimum for small text. */
const faintTexts = `(() => {
  const numbers = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = ([r, g, b]) => [r, g, b].map((v) => v / 255)
    .map((v) => (v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4))
    .reduce((sum, v, i) => sum + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (element) => {
    for (let e = element; e; e = e.parentElement) {
      const [r, g, b, a = 1] = numbers(getComputedStyle(e).backgroundColor);
      if (a === 1) return [r, g, b];
    }
    return [255, 255, 255];
  };
  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const element = node.parentElement;
    if (!node.textContent.trim() || element.closest(".offscreen, .skip, noscript")) continue;
    const style = getComputedStyle(element);
    const isSvg = element instanceof SVGElement;
    const [a, b] = [numbers(isSvg ? style.fill : style.color), behind(element)].map(luminance);
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) faint.push(ratio.toFixed(2) + " " + element.className + ": " + node.textContent.slice(0, 40));
  }
  return faint;
})()`;

/** Every text is readable, and nothing is wider than the window. */
export async function checkLooks(page: Page, name: string): Promise<void> {
  expect(await page.evaluate<string[]>(faintTexts), name).toEqual([]);
  const over = "document.documentElement.scrollWidth - document.documentElement.clientWidth";
  expect(await page.evaluate<number>(over), `${name} scrolls sideways`).toBe(0);
  if (pictures) await page.screenshot({ path: join(pictures, `dashboard-${name}.png`) });
}

import { expect, test } from "vitest";
import { describeBudget, describeBurn, percentText, toneOfBudget } from "./describe-budget.ts";

test.each([
  [1, "100 %"],
  [0.99, "99 %"],
  [0.9995, "99.95 %"],
  [0.99999, "99.99 %"],
  [0, "0 %"],
])("%d is %s", (part, text) => {
  expect(percentText(part)).toBe(text);
});

test.each([
  { left: 0.62, text: "62 % of the error budget left", tone: "ready" },
  { left: 0.001, text: "1 % of the error budget left", tone: "readiness" },
  { left: 0, text: "The error budget is spent", tone: "failing" },
  { left: -0.4, text: "Overspent by 40 %", tone: "failing" },
])("$left: $text", ({ left, text, tone }) => {
  expect(describeBudget(left)).toBe(text);
  expect(toneOfBudget(left)).toBe(tone);
});

test.each([
  [0, "burn rate 0"],
  [0.4567, "burn rate 0.46"],
  [14.4, "burn rate 14"],
])("burn rate %d: %s", (rate, text) => {
  expect(describeBurn(rate)).toBe(text);
});

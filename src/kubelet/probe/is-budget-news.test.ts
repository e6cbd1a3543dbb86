import { expect, test } from "vitest";
import { startupBudget } from "../../api/startup-budget.ts";
import { isBudgetNews } from "./is-budget-news.ts";

test.each([
  [30, [15, 29]],
  [7, [4, 6]],
  [6, [3, 5]],
  [5, []],
  [1, []],
])("with a threshold of %d, events tell of the budget after failures %j", (failureThreshold, expected) => {
  const told = Array.from({ length: failureThreshold }, (_, failures) =>
    startupBudget({ failures, failureThreshold, periodMs: 1_000, nextProbeAtMs: 0, now: 0 }),
  ).filter(isBudgetNews);
  expect(told.map(({ failures }) => failures)).toEqual(expected);
});

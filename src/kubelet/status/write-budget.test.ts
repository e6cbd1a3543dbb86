import { expect, test } from "vitest";
import { budgetWaitMs, fullBudget, spendOne, type WriteBudget } from "./write-budget.ts";

function spend(count: number, now: number): WriteBudget {
  let budget = fullBudget(0);
  for (let i = 0; i < count; i++) budget = spendOne(budget, now);
  return budget;
}

test.each([
  ["the first goes at once", 0, 0, 0],
  ["and a burst after it", 9, 0, 0],
  ["then one a second", 10, 0, 1_000],
  ["the second is counted from the burst on", 10, 400, 600],
  ["and is over", 10, 1_000, 0],
])("%s", (_, spent, now, waitMs) => {
  expect(budgetWaitMs(spend(spent, 0), now)).toBe(waitMs);
});

test("a minute of constant changes allows a burst and one write a second", () => {
  let budget = fullBudget(0);
  let writes = 0;
  for (let now = 0; now < 60_000; now += 10) {
    if (budgetWaitMs(budget, now) > 0) continue;
    budget = spendOne(budget, now);
    writes++;
  }
  expect(writes).toBe(10 + 59);
});

test("a clock that was set back does not delay writes", () => {
  const budget = spend(10, 1_000_000);
  expect(budgetWaitMs(budget, 0)).toBeLessThanOrEqual(1_000);
});

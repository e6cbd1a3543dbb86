import { expect, test } from "vitest";
import { startupBudget } from "./startup-budget.ts";

const rows: [string, { failures: number; nextInMs: number; failureThreshold?: number }, string][] = [
  [
    "nothing used, the first probe under way",
    { failures: 0, nextInMs: 0 },
    "0 of 30 failures, at most 290 s left",
  ],
  [
    "nothing used, within the initial delay",
    { failures: 0, nextInMs: 20_000 },
    "0 of 30 failures, at most 310 s left",
  ],
  [
    "right after the third failure",
    { failures: 3, nextInMs: 10_000 },
    "3 of 30 failures, at most 270 s left",
  ],
  ["four seconds later", { failures: 3, nextInMs: 6_000 }, "3 of 30 failures, at most 266 s left"],
  ["a probe that is late", { failures: 3, nextInMs: -50 }, "3 of 30 failures, at most 260 s left"],
  ["the last chance", { failures: 29, nextInMs: 9_100 }, "29 of 30 failures, at most 10 s left"],
  ["used up", { failures: 30, nextInMs: 10_000 }, "30 of 30 failures, at most 0 s left"],
  [
    "a threshold of one",
    { failures: 0, nextInMs: 0, failureThreshold: 1 },
    "0 of 1 failures, at most 0 s left",
  ],
];
test.each(rows)("%s", (_name, { failures, nextInMs, failureThreshold = 30 }, text) => {
  const budget = startupBudget({
    failures,
    failureThreshold,
    periodMs: 10_000,
    nextProbeAtMs: 5_000 + nextInMs,
    now: 5_000,
  });
  expect(budget.text).toBe(text);
});

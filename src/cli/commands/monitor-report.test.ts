import { expect, test } from "vitest";
import type { SloView } from "../../monitor/feed/feed-message.ts";
import { renderSloReport } from "./monitor-report.ts";

const slo = (given: Partial<SloView>): SloView => ({
  name: "fast",
  kind: "latency",
  objective: "99% of starts within 10s, over 28d",
  target: 0.99,
  budgetLeft: 1,
  burnRate: 0,
  good: 0,
  total: 0,
  breaches: [],
  ...given,
});

test("3085-13: prints objectives as a table, with the classes of their breaches", () => {
  const breached = slo({
    name: "sandboxes",
    budgetLeft: -1.5,
    burnRate: 2.5,
    good: 99_999,
    total: 100_000,
    breaches: [
      { class: "StorageClass broken", bad: 1, total: 1 },
      { class: "node \x1b[31mnode-1\nfake", bad: 1, total: 50 },
    ],
  });
  expect(renderSloReport([slo({}), breached])).toBe(
    [
      "NAME        STATUS     GOOD    TARGET   BUDGET LEFT   BURN RATE   BREACHES   OBJECTIVE",
      "fast        no data    -       99%      100%          0x          0/0        99% of starts within 10s, over 28d",
      "sandboxes   breached   <100%   99%      -150%         2.5x        1/100000   99% of starts within 10s, over 28d",
      "",
      "sandboxes: classes with the most breaches",
      "  CLASS                  BREACHES",
      "  StorageClass broken    1 of 1",
      "  node [31mnode-1 fake   1 of 50",
      "",
    ].join("\n"),
  );
});

test.each([
  [{ good: 9, total: 10, budgetLeft: 0.5, burnRate: 0.5 }, "met"],
  [{ good: 9, total: 10, budgetLeft: 0.5, burnRate: 3 }, "at risk"],
  [{ good: 9, total: 10, budgetLeft: 0, burnRate: 0 }, "breached"],
])("%j is %s", (given, status) => {
  expect(renderSloReport([slo(given)])).toContain(status);
});

test("uses colours if they are enabled", () => {
  const at = slo({ good: 9, total: 10, budgetLeft: 0 });
  expect(renderSloReport([at], { color: true })).toContain("\x1b[31mbreached\x1b[0m   90%");
});

test("no objectives", () => {
  expect(renderSloReport([])).toBe(
    "The monitor has no objectives; define some in the file of kindling monitor --config.\n",
  );
});

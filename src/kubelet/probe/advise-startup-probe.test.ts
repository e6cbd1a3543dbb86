import { expect, test } from "vitest";
import { adviseStartupProbe } from "./advise-startup-probe.ts";

const rows: [string, number[], { periodSeconds: number; failureThreshold: number } | undefined][] = [
  ["nothing was seen", [], undefined],
  ["too little was seen", [5_000, 6_000], undefined],
  ["fast starts: every second, half a minute", [200, 300, 400], { periodSeconds: 1, failureThreshold: 31 }],
  [
    "a tenth of the median, three times the slowest",
    [40_000, 60_000, 50_000],
    { periodSeconds: 5, failureThreshold: 37 },
  ],
  [
    "one slow start widens the budget, not the period",
    [20_000, 20_000, 20_000, 20_000, 100_000],
    { periodSeconds: 2, failureThreshold: 151 },
  ],
  [
    "never more than ten seconds apart",
    [600_000, 600_000, 600_000],
    { periodSeconds: 10, failureThreshold: 181 },
  ],
  ["what is no duration is not counted", [Number.NaN, -1, 200, 300], undefined],
];
test.each(rows)("%s", (_name, durations, expected) => {
  const advice = adviseStartupProbe(durations);
  if (expected) expect(advice).toMatchObject(expected);
  else expect(advice).toBeUndefined();
});

test("the advice says why", () => {
  expect(adviseStartupProbe([40_000, 60_000, 50_000])?.reason).toBe(
    "3 starts took 50.0 s (median) to 60.0 s (slowest): probing every 5 s, 180 s are allowed before a restart",
  );
});

import { expect, test } from "vitest";
import { logAxis } from "../view/nice-axis.ts";
import { binDurations } from "./bin-durations.ts";

test.each<{ name: string; values: number[]; counts: number[] }>([
  { name: "nothing", values: [], counts: [0, 0, 0, 0] },
  { name: "one in each", values: [100, 400, 1_500, 5_000], counts: [1, 1, 1, 1] },
  { name: "the ends take what lies outside", values: [1, 100, 10_000, 99_999], counts: [2, 0, 0, 2] },
])("$name", ({ values, counts }) => {
  const bins = binDurations(values, logAxis([100, 10_000]), 4);
  expect(bins.map(({ count }) => count)).toEqual(counts);
  expect(bins.at(-1)).toMatchObject({ from: 0.75, to: 1 });
});

import { expect, test } from "vitest";
import type { FinishedView } from "../../../src/monitor/feed/feed-message.ts";
import { logAxis } from "../view/nice-axis.ts";
import { binDurations, dotsPath, nearestPoint, placeStarts } from "./place-starts.ts";

const start = (readyMs: number, lastedMs: number) =>
  ({ createdMs: readyMs - lastedMs, readyMs, stages: { sandbox: 1 } }) as unknown as FinishedView;
const points = placeStarts([start(100_000, 100), start(150_000, 1_000), start(200_000, 10_000)], {
  width: 200,
  height: 100,
  fromMs: 100_000,
  toMs: 200_000,
  axis: logAxis([100, 10_000]),
});

test("places later starts to the right and longer ones higher", () => {
  expect(points.map(({ x, y, stage }) => [x, y, stage])).toEqual([
    [0, 100, "sandbox"],
    [100, 50, "sandbox"],
    [200, 0, "sandbox"],
  ]);
  expect(dotsPath(points)).toBe("M0.0 100.0h0M100.0 50.0h0M200.0 0.0h0");
});

test.each([
  { x: 102, y: 49, index: 1 },
  { x: 195, y: 8, index: 2 },
  { x: 50, y: 50, index: -1 },
])("the point near $x, $y", ({ x, y, index }) => {
  expect(nearestPoint(points, x, y)).toBe(points[index]);
});

test.each<{ name: string; values: number[]; counts: number[] }>([
  { name: "nothing", values: [], counts: [0, 0, 0, 0] },
  { name: "counts one value per bin", values: [100, 400, 1_500, 5_000], counts: [1, 1, 1, 1] },
  { name: "counts outer values in the outer bins", values: [1, 100, 10_000, 99_999], counts: [2, 0, 0, 2] },
])("$name", ({ values, counts }) => {
  const bins = binDurations(values, logAxis([100, 10_000]), 4);
  expect(bins.map(({ count }) => count)).toEqual(counts);
  expect(bins.at(-1)).toMatchObject({ from: 0.75, to: 1 });
});

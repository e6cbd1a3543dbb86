import { expect, test } from "vitest";
import { reconnectDelayMs } from "./reconnect-delay.ts";

test.each([
  [1, 100, 200],
  [6, 100, 200],
  [7, 800, 1_600],
  [8, 1_600, 3_200],
  [11, 12_800, 25_600],
  [12, 15_000, 30_000],
  [10_000, 15_000, 30_000],
])("after %i failures between %i and %i ms", (failures, least, most) => {
  expect(reconnectDelayMs(failures, () => 0)).toBe(least);
  expect(reconnectDelayMs(failures, () => 1)).toBe(most);
});

test("looks for a server at least five times within the first second or so", () => {
  let elapsedMs = 0;
  for (let failures = 1; failures <= 5; failures++) elapsedMs += reconnectDelayMs(failures, () => 1);
  expect(elapsedMs).toBeLessThanOrEqual(1_000);
});

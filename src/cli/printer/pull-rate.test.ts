import { expect, test } from "vitest";
import { addSample, bytesPerSecond, type Sample } from "./pull-rate.ts";

test("the rate is that of the last seconds", () => {
  let samples: readonly Sample[] = [];
  expect(bytesPerSecond(samples)).toBeUndefined();
  samples = addSample(samples, { at: 0, bytes: 0 });
  expect(bytesPerSecond(samples)).toBeUndefined();
  samples = addSample(samples, { at: 2_000, bytes: 1_000 });
  expect(bytesPerSecond(samples)).toBe(500);
  samples = addSample(samples, { at: 6_000, bytes: 9_000 });
  expect(bytesPerSecond(samples)).toBe(2_000);
});

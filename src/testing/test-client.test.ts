import { expect, test } from "vitest";
import { toMs } from "./test-client.ts";

test.each([
  [0, 0],
  [1_500, 1_500],
  [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
  ["500ms", 500],
  ["30s", 30_000],
  ["1.5m", 90_000],
  ["1h30m", 5_400_000],
  ["1h0m0s", 3_600_000],
])("%j is %j ms", (duration, expected) => {
  expect(toMs(duration, "timeout")).toBe(expected);
});

test.each(["", "5", "5 m", "-5m", "5d", "m", "1h30", -1, Number.NaN, "9".repeat(400)])(
  "%j is not a duration",
  (wrong) => {
    expect(() => toMs(wrong, "timeout")).toThrow(
      /^timeout: .* is not a duration; use milliseconds, or text like/,
    );
  },
);

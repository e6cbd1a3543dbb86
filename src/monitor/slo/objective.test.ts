import { expect, test } from "vitest";
import { formatDuration, parseDuration } from "./objective.ts";

test.each([
  ["500ms", 500, "500ms"],
  ["10s", 10_000, "10s"],
  ["1m30s", 90_000, "1m30s"],
  ["0.5h", 1_800_000, "30m"],
  ["4w", 28 * 86_400_000, "28d"],
])("%s", (text, ms, shown) => {
  expect(parseDuration(text)).toBe(ms);
  expect(formatDuration(ms)).toBe(shown);
});

test.each(["", "10", "s", "-1s", "1 s", "1y", "1e3s", "s1", `${"9".repeat(1_000)}s`])(
  "rejects %j",
  (text) => {
    expect(parseDuration(text)).toBeUndefined();
  },
);

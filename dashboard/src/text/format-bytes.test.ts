import { expect, test } from "vitest";
import { formatBytes, formatPart } from "./format-bytes.ts";

test.each([
  [0, "0 B"],
  [999, "999 B"],
  [999.9, "1.0 kB"],
  [1_500, "1.5 kB"],
  [999_960, "1.0 MB"],
  [240_000_000, "240 MB"],
  [3.2e15, "3200 TB"],
])("%d is %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [0, 0, "0 B"],
  [500, 0, "500 B"],
  [12_340_000, 80_000_000, "12.3 of 80.0 MB"],
  [1_000, 240_000_000, "0 of 240 MB"],
])("%d of %d is %s", (offset, total, text) => {
  expect(formatPart(offset, total)).toBe(text);
});

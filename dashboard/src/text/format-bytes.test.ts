import { expect, test } from "vitest";
import { formatBytes, formatPart } from "./format-bytes.ts";

test.each([
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_023.9, "1.0 KiB"],
  [1_536, "1.5 KiB"],
  [2 ** 20 - 10, "1.0 MiB"],
  [240 * 2 ** 20, "240 MiB"],
  [3_200 * 2 ** 40, "3200 TiB"],
])("%d is %s", (bytes, text) => {
  expect(formatBytes(bytes)).toBe(text);
});

test.each([
  [0, 0, "0 B"],
  [500, 0, "500 B"],
  [12.34 * 2 ** 20, 80 * 2 ** 20, "12.3 of 80.0 MiB"],
  [1_000, 240 * 2 ** 20, "0 of 240 MiB"],
])("%d of %d is %s", (offset, total, text) => {
  expect(formatPart(offset, total)).toBe(text);
});

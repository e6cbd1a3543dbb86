import { describe, expect, test } from "vitest";
import {
  addQuantities,
  canonicalQuantity,
  compareQuantities,
  formatQuantity,
  milliUnits,
  parseQuantity,
  QuantityError,
  roundUpToMilli,
  subtractQuantities,
  wholeUnits,
} from "./quantity.ts";

describe("canonicalQuantity", () => {
  test.each([
    ["0", "0"],
    ["00", "0"],
    ["0Gi", "0"],
    ["1", "1"],
    ["100", "100"],
    ["1000", "1k"],
    ["0.5", "500m"],
    [".5", "500m"],
    ["1.", "1."],
    ["0.123", "123m"],
    ["1.5", "1500m"],
    ["1.250", "1.250"],
    ["100m", "100m"],
    ["1000m", "1"],
    ["1500m", "1500m"],
    ["2000m", "2"],
    ["1k", "1k"],
    ["1000k", "1M"],
    ["1024", "1024"],
    ["1Ki", "1Ki"],
    ["1024Ki", "1Mi"],
    ["1024Mi", "1Gi"],
    ["1536Mi", "1536Mi"],
    ["1.5Gi", "1536Mi"],
    ["0.5Mi", "512Ki"],
    ["0.5Ki", "512"],
    ["100Gi", "100Gi"],
    ["12e6", "12e6"],
    ["1e3", "1e3"],
    ["1E3", "1e3"],
    ["100e1", "1e3"],
    ["1e-3", "1e-3"],
    ["1E", "1E"],
    ["1000E", "1000E"],
    ["0.1n", "1n"],
    ["1e-20", "1e-9"],
    ["-1", "-1"],
    ["-0.5", "-500m"],
    ["+5", "+5"],
    ["9Ei", "9223372036854775807"],
  ])("%s -> %s", (text, canonical) => {
    expect(canonicalQuantity(text)).toBe(canonical);
  });
});

describe("parseQuantity refuses", () => {
  const format =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
  const suffix = "unable to parse quantity's suffix";
  test.each([
    ["", format],
    [" 1", format],
    ["1 Gi", format],
    ["1.2.3", format],
    ["one", format],
    ["1Zi", format],
    ["0x10", format],
    ["1i", suffix],
    ["1mi", suffix],
    ["1ki", suffix],
    ["1e", suffix],
    ["1K", suffix],
    ["1e999999999", suffix],
  ])("%j", (text, message) => {
    expect(() => parseQuantity(text)).toThrow(new QuantityError(message));
  });

  test("ten thousand digits", () => {
    const refusal = new QuantityError("unable to parse numeric part of quantity");
    expect(() => parseQuantity("9".repeat(10_000))).toThrow(refusal);
  });
});

test("equal amounts in different notations compare equal", () => {
  expect(compareQuantities(parseQuantity("1"), parseQuantity("1000m"))).toBe(0);
  expect(compareQuantities(parseQuantity("1Gi"), parseQuantity("1G"))).toBe(1);
  expect(compareQuantities(parseQuantity("-1"), parseQuantity("1n"))).toBe(-1);
});

test("sums and differences are exact", () => {
  const sum = addQuantities(parseQuantity("0.1"), parseQuantity("0.2"));
  expect(formatQuantity(sum)).toBe("300m");
  expect(formatQuantity(addQuantities(parseQuantity("0"), parseQuantity("1Gi")))).toBe("1Gi");
  expect(formatQuantity(subtractQuantities(parseQuantity("1Gi"), parseQuantity("1Mi")))).toBe("1023Mi");
  expect(formatQuantity(subtractQuantities(parseQuantity("1Ei"), parseQuantity("1")))).toBe(
    "1152921504606846975",
  );
});

test("units round up", () => {
  expect(wholeUnits(parseQuantity("1.1"))).toBe(2);
  expect(wholeUnits(parseQuantity("1Gi"))).toBe(1024 ** 3);
  expect(milliUnits(parseQuantity("0.0001"))).toBe(1);
  expect(milliUnits(parseQuantity("1.5"))).toBe(1500);
  expect(formatQuantity(roundUpToMilli(parseQuantity("1.0001")))).toBe("1001m");
});

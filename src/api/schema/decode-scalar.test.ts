import { describe, expect, test } from "vitest";
import { canonicalMicroTime, canonicalTime } from "./decode-scalar.ts";

describe("canonicalTime", () => {
  test.each([
    ["2026-03-01T10:20:30Z", "2026-03-01T10:20:30Z"],
    ["2026-03-01T10:20:30.987654321Z", "2026-03-01T10:20:30Z"],
    ["2026-03-01T00:20:30+02:00", "2026-02-28T22:20:30Z"],
    ["2026-03-01T23:20:30-01:30", "2026-03-02T00:50:30Z"],
    ["2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"],
    ["0001-01-01T00:00:00Z", "0001-01-01T00:00:00Z"],
  ])("%s is kept as %s", (text, expected) => {
    expect(canonicalTime(text)).toBe(expected);
  });

  test.each([
    ["", 'parsing time "" as "2006-01-02T15:04:05Z07:00": cannot parse "" as "2006"'],
    ["now", 'parsing time "now" as "2006-01-02T15:04:05Z07:00": cannot parse "now" as "2006"'],
    ["2026-02-29T00:00:00Z", 'parsing time "2026-02-29T00:00:00Z": day out of range'],
    ["2026-13-01T00:00:00Z", 'parsing time "2026-13-01T00:00:00Z": month out of range'],
    ["2026-00-01T00:00:00Z", 'parsing time "2026-00-01T00:00:00Z": day out of range'],
    ["2026-01-00T00:00:00Z", 'parsing time "2026-01-00T00:00:00Z": day out of range'],
    ["9999-12-31T23:59:59-01:00", 'parsing time "9999-12-31T23:59:59-01:00": year out of range'],
    ["2026-01-01T24:00:00Z", 'parsing time "2026-01-01T24:00:00Z": hour out of range'],
    ["2026-01-01T00:00:60Z", 'parsing time "2026-01-01T00:00:60Z": second out of range'],
  ])("%j is refused", (text, message) => {
    expect(() => canonicalTime(text)).toThrow(message);
  });
});

describe("canonicalMicroTime", () => {
  test.each([
    ["2026-03-01T10:20:30.123456Z", "2026-03-01T10:20:30.123456Z"],
    ["2026-03-01T10:20:30.123456+01:00", "2026-03-01T09:20:30.123456Z"],
  ])("%s is kept as %s", (text, expected) => {
    expect(canonicalMicroTime(text)).toBe(expected);
  });

  test.each(["2026-03-01T10:20:30Z", "2026-03-01T10:20:30.123Z"])("%s lacks digits", (text) => {
    expect(() => canonicalMicroTime(text)).toThrow(/as "\.000000"$/);
  });
});

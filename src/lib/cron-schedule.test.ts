import { describe, expect, test } from "vitest";
import { parseCronSchedule } from "./cron-schedule.ts";
import { isTimeZone } from "./time-zone.ts";

function occurrences(text: string, after: string, { count = 1, zone = "UTC" } = {}): string[] {
  const schedule = parseCronSchedule(text, zone);
  const times: string[] = [];
  for (let ms = Date.parse(after); times.length < count; ) {
    const next = schedule.next(ms);
    if (next === undefined) break;
    times.push(new Date(next).toISOString().replace(":00.000Z", "Z"));
    ms = next;
  }
  return times;
}

describe("next", () => {
  test.each([
    ["* * * * *", "2026-01-01T00:00:00Z", ["2026-01-01T00:01Z", "2026-01-01T00:02Z"]],
    ["* * * * *", "2025-12-31T23:59:59.900Z", ["2026-01-01T00:00Z"]],
    ["*/15 * * * *", "2026-01-01T00:40:00Z", ["2026-01-01T00:45Z", "2026-01-01T01:00Z"]],
    ["5/20 * * * *", "2026-01-01T00:00:00Z", ["2026-01-01T00:05Z", "2026-01-01T00:25Z", "2026-01-01T00:45Z"]],
    [
      "0 9-17/4 * * ?",
      "2026-01-01T00:00:00Z",
      ["2026-01-01T09:00Z", "2026-01-01T13:00Z", "2026-01-01T17:00Z"],
    ],
    ["0 0 29 2 *", "2026-01-01T00:00:00Z", ["2028-02-29T00:00Z"]],
    ["0 0 * feb-mar MON", "2026-01-01T00:00:00Z", ["2026-02-02T00:00Z"]],
    ["@hourly", "2026-01-01T00:00:00Z", ["2026-01-01T01:00Z"]],
    ["@weekly", "2026-01-01T00:00:00Z", ["2026-01-04T00:00Z"]],
    ["@monthly", "2026-01-01T00:00:00Z", ["2026-02-01T00:00Z"]],
    ["@yearly", "2026-01-01T00:00:00Z", ["2027-01-01T00:00Z"]],
    ["@every 1h30m", "2026-01-01T00:00:00.7Z", ["2026-01-01T01:30Z", "2026-01-01T03:00Z"]],
  ])("%s after %s", (text, after, expected) => {
    expect(occurrences(text, after, { count: expected.length })).toEqual(expected);
  });

  test("matches either day field if both are restricted, and both otherwise", () => {
    const after = "2026-01-01T00:00:00Z";
    expect(occurrences("0 0 13 * 5", after, { count: 3 })).toEqual([
      "2026-01-02T00:00Z",
      "2026-01-09T00:00Z",
      "2026-01-13T00:00Z",
    ]);
    expect(occurrences("0 0 */2 * 5", after, { count: 2 })).toEqual([
      "2026-01-02T00:00Z",
      "2026-01-03T00:00Z",
    ]);
    expect(occurrences("0 0 * * 5", after, { count: 2 })).toEqual(["2026-01-02T00:00Z", "2026-01-09T00:00Z"]);
  });

  test.each(["0 0 30 2 *", ", * * * *", "0 0 , * ,"])("%s never occurs", (text) => {
    expect(occurrences(text, "2026-01-01T00:00:00Z")).toEqual([]);
  });

  test("uses the offset of the time zone on that day", () => {
    const zone = "Europe/Berlin";
    expect(occurrences("0 6 * * *", "2026-01-10T00:00:00Z", { zone })).toEqual(["2026-01-10T05:00Z"]);
    expect(occurrences("0 6 * * *", "2026-07-10T00:00:00Z", { zone })).toEqual(["2026-07-10T04:00Z"]);
    expect(occurrences("TZ=Asia/Kolkata 30 5 * * *", "2026-01-01T00:00:00Z", { zone })).toEqual([
      "2026-01-02T00:00Z",
    ]);
  });

  test("skips a time that daylight saving time skips", () => {
    const zone = "America/New_York";
    expect(occurrences("30 2 * * *", "2026-03-07T12:00:00Z", { zone, count: 2 })).toEqual([
      "2026-03-09T06:30Z",
      "2026-03-10T06:30Z",
    ]);
  });

  test("repeats a time that daylight saving time repeats", () => {
    const zone = "America/New_York";
    expect(occurrences("30 1 * * *", "2026-10-31T12:00:00Z", { zone, count: 3 })).toEqual([
      "2026-11-01T05:30Z",
      "2026-11-01T06:30Z",
      "2026-11-02T06:30Z",
    ]);
  });

  test("finds the later times of a day whose midnight does not exist", () => {
    const zone = "America/Sao_Paulo";
    expect(occurrences("30 1 * * 0", "2018-11-03T12:00:00Z", { zone })).toEqual(["2018-11-04T03:30Z"]);
    expect(occurrences("0 0 * * *", "2018-11-03T12:00:00Z", { zone })).toEqual(["2018-11-05T02:00Z"]);
  });
});

test.each([
  ["", "empty spec string"],
  ["* * * *", "expected exactly 5 fields, found 4: [* * * *]"],
  ["60 * * * *", "end of range (60) above maximum (59): 60"],
  ["* * 0 * *", "beginning of range (0) below minimum (1): 0"],
  ["5-1 * * * *", "beginning of range (5) beyond end of range (1): 5-1"],
  ["1-2-3 * * * *", "too many hyphens: 1-2-3"],
  ["1/2/3 * * * *", "too many slashes: 1/2/3"],
  ["*/0 * * * *", "step of range should be a positive number: */0"],
  ["* * * * 7", "end of range (7) above maximum (6): 7"],
  ["a * * * *", 'failed to parse int from a: strconv.Atoi: parsing "a": invalid syntax'],
  [
    "99999999999999999999 * * * *",
    'failed to parse int from 99999999999999999999: strconv.Atoi: parsing "99999999999999999999": value out of range',
  ],
  ["@every 1x", 'failed to parse duration @every 1x: time: invalid duration "1x"'],
  ["@never", "unrecognized descriptor: @never"],
  ["TZ=0", "invalid schedule format: runtime error: slice bounds out of range [:-1]"],
  ["TZ=No/Where * * * * *", "provided bad location No/Where: unknown time zone No/Where"],
])("%j is rejected as upstream rejects it", (text, message) => {
  expect(() => parseCronSchedule(text, "UTC")).toThrow(message);
});

test.each([
  ["Europe/Berlin", true],
  ["US/Eastern", true],
  ["Etc/GMT+5", true],
  ["UTC", true],
  ["europe/berlin", false],
  ["+01:00", false],
  ["../etc/passwd", false],
  ["No/Where", false],
  ["", false],
])("isTimeZone(%j) is %s", (zone, expected) => {
  expect(isTimeZone(zone)).toBe(expected);
});

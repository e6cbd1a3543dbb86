import { type FunctionDeclaration, fn, type Implementation, member } from "../functions.ts";
import { compileRegex } from "../regex.ts";
import { inTimeZone } from "../time.ts";
import type { Duration, Timestamp } from "../values.ts";
import { CelError, type Value } from "../values.ts";

function texts(test: (text: string, part: string) => Value): Implementation {
  return ([text, part]) => test(text as string, part as string);
}

const matches = texts((text, pattern) => {
  const regex = compileRegex(pattern);
  return typeof regex === "string" ? new CelError(regex) : regex.matcher(text).find();
});

/** Function of a time: with a time zone as argument, or in UTC. */
function timePart(
  name: string,
  id: string,
  read: (date: Date, milliseconds: number) => number,
  zonedId = `${id}_with_tz`,
) {
  const run: Implementation = ([time, zone = "UTC"]) => {
    const parts = inTimeZone((time as Timestamp).nanoseconds, zone as string);
    return parts instanceof CelError ? parts : BigInt(read(parts.date, parts.milliseconds));
  };
  return member(name, [id, "timestamp -> int", run], [zonedId, "timestamp, string -> int", run]);
}

function durationPart(name: string, id: string, unit: bigint): FunctionDeclaration {
  return member(name, [id, "duration -> int", ([value]) => (value as Duration).nanoseconds / unit]);
}

const dayMs = 86_400_000;

function dayOfYear(date: Date): number {
  const start = Date.UTC(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - start) / dayMs);
}

/** Functions of strings and times of the standard library. */
export const textFunctions: readonly FunctionDeclaration[] = [
  member("contains", [
    "contains_string",
    "string, string -> bool",
    texts((text, part) => text.includes(part)),
  ]),
  member("endsWith", [
    "ends_with_string",
    "string, string -> bool",
    texts((text, part) => text.endsWith(part)),
  ]),
  member("startsWith", [
    "starts_with_string",
    "string, string -> bool",
    texts((text, part) => text.startsWith(part)),
  ]),
  fn("matches", ["matches", "string, string -> bool", matches]),
  member("matches", ["matches_string", "string, string -> bool", matches]),
  timePart("getFullYear", "timestamp_to_year", (date) => date.getUTCFullYear()),
  timePart("getMonth", "timestamp_to_month", (date) => date.getUTCMonth()),
  timePart("getDayOfYear", "timestamp_to_day_of_year", dayOfYear),
  timePart("getDayOfMonth", "timestamp_to_day_of_month", (date) => date.getUTCDate() - 1),
  timePart("getDate", "timestamp_to_day_of_month_1_based", (date) => date.getUTCDate()),
  timePart("getDayOfWeek", "timestamp_to_day_of_week", (date) => date.getUTCDay()),
  timePart("getHours", "timestamp_to_hours", (date) => date.getUTCHours()),
  timePart("getMinutes", "timestamp_to_minutes", (date) => date.getUTCMinutes()),
  timePart("getSeconds", "timestamp_to_seconds", (date) => date.getUTCSeconds(), "timestamp_to_seconds_tz"),
  timePart("getMilliseconds", "timestamp_to_milliseconds", (_, milliseconds) => milliseconds),
  durationPart("getHours", "duration_to_hours", 3_600_000_000_000n),
  durationPart("getMinutes", "duration_to_minutes", 60_000_000_000n),
  durationPart("getSeconds", "duration_to_seconds", 1_000_000_000n),
  durationPart("getMilliseconds", "duration_to_milliseconds", 1_000_000n),
];

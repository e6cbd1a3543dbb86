import { parseGoDuration } from "./go-duration.ts";
import { isTimeZone, localTimeZone, zoneOffsetMs } from "./time-zone.ts";

/**
 * Schedule in Cron format with the rules and error texts of robfig/cron, which Kubernetes uses: five fields, names of
 * months and days, `?` as `*`, `N/step` as `N-max/step`, descriptors and `@every`. If both day fields are restricted, a
 * day matches if either does. A time that a time zone skips does not occur; one that it repeats occurs twice.
 */
export interface CronSchedule {
  /** Returns the first occurrence after `afterMs`, or undefined if there is none within five years. */
  next(afterMs: number): number | undefined;
}

/** Error in the text of a schedule. */
export class CronScheduleError extends Error {}

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: readonly string[];
}

const months = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const weekdays = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];
const fieldBounds: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: months },
  { min: 0, max: 6, names: weekdays },
];

const descriptors: Readonly<Record<string, string>> = {
  "@yearly": "0 0 1 1 *",
  "@annually": "0 0 1 1 *",
  "@monthly": "0 0 1 * *",
  "@weekly": "0 0 * * 0",
  "@daily": "0 0 * * *",
  "@midnight": "0 0 * * *",
  "@hourly": "0 * * * *",
};

/** Values that one field allows. */
interface Field {
  readonly values: ReadonlySet<number>;
  /** Whether the field contains `*` or `?` without a step. */
  readonly isStar: boolean;
}

interface Fields {
  readonly minutes: Field;
  readonly hours: Field;
  readonly daysOfMonth: Field;
  readonly months: Field;
  readonly weekdays: Field;
}

/** Parses a schedule. Its zone is that of a `TZ=` prefix, else `timeZone`, else that of the process. */
export function parseCronSchedule(text: string, timeZone?: string): CronSchedule {
  if (text === "") throw new CronScheduleError("empty spec string");
  const [, prefix, rest = ""] = /^(?:CRON_)?TZ=(\S*)(.*)$/s.exec(text) ?? [];
  const body = prefix === undefined ? text : rest.trim();
  if (prefix !== undefined && !text.includes(" "))
    throw new CronScheduleError("invalid schedule format: runtime error: slice bounds out of range [:-1]");
  if (prefix && !isTimeZone(prefix))
    throw new CronScheduleError(`provided bad location ${prefix}: unknown time zone ${prefix}`);
  const zone = (prefix === "" ? "UTC" : prefix) ?? timeZone ?? localTimeZone();
  if (body.startsWith("@every ")) return everySchedule(body);
  const named = Object.hasOwn(descriptors, body) ? descriptors[body] : undefined;
  if (body.startsWith("@") && named === undefined)
    throw new CronScheduleError(`unrecognized descriptor: ${body}`);
  return fieldSchedule(parseFields(named ?? body), zone);
}

function everySchedule(descriptor: string): CronSchedule {
  const text = descriptor.slice("@every ".length);
  const durationMs = parseGoDuration(text);
  if (durationMs === undefined) {
    const problem = `time: invalid duration ${JSON.stringify(text)}`;
    throw new CronScheduleError(`failed to parse duration ${descriptor}: ${problem}`);
  }
  const delayMs = Math.max(second, Math.floor(durationMs / second) * second);
  return { next: (afterMs) => Math.floor(afterMs / second) * second + delayMs };
}

function parseFields(text: string): Fields {
  const parts = text.split(/\s+/).filter(Boolean);
  if (parts.length !== 5)
    throw new CronScheduleError(`expected exactly 5 fields, found ${parts.length}: [${parts.join(" ")}]`);
  const [minutes, hours, daysOfMonth, months, weekdays] = fieldBounds.map((bounds, i) =>
    parseField(parts[i] ?? "", bounds),
  );
  if (!minutes || !hours || !daysOfMonth || !months || !weekdays) throw new Error("unreachable");
  return { minutes, hours, daysOfMonth, months, weekdays };
}

function parseField(text: string, bounds: Bounds): Field {
  const values = new Set<number>();
  let isStar = false;
  for (const expression of text.split(",").filter(Boolean)) {
    const range = parseRange(expression, bounds);
    isStar ||= range.isStar;
    for (let value = range.first; value <= range.last; value += range.step) values.add(value);
  }
  return { values, isStar };
}

function parseRange(expression: string, bounds: Bounds) {
  const { min, max } = bounds;
  const [range = "", stepText, ...furtherSteps] = expression.split("/");
  const [low = "", high, ...furtherLimits] = range.split("-");
  const isStar = low === "*" || low === "?";
  const first = isStar ? min : parseValue(low, bounds);
  if (!isStar && furtherLimits.length > 0) throw new CronScheduleError(`too many hyphens: ${expression}`);
  let last = isStar ? max : high === undefined ? first : parseValue(high, bounds);
  if (furtherSteps.length > 0) throw new CronScheduleError(`too many slashes: ${expression}`);
  const step = stepText === undefined ? 1 : parseInteger(stepText);
  if (stepText !== undefined && high === undefined) last = max;
  const limits = (problem: string) => new CronScheduleError(`${problem}: ${expression}`);
  if (first < min) throw limits(`beginning of range (${first}) below minimum (${min})`);
  if (last > max) throw limits(`end of range (${last}) above maximum (${max})`);
  if (first > last) throw limits(`beginning of range (${first}) beyond end of range (${last})`);
  if (step === 0) throw limits("step of range should be a positive number");
  return { first, last, step, isStar: isStar && step === 1 };
}

function parseValue(text: string, { min, names = [] }: Bounds): number {
  const index = names.indexOf(text.toLowerCase());
  return index < 0 ? parseInteger(text) : min + index;
}

function parseInteger(text: string): number {
  const problem = !/^[+-]?\d+$/.test(text)
    ? "invalid syntax"
    : BigInt.asIntN(64, BigInt(text)) !== BigInt(text)
      ? "value out of range"
      : undefined;
  if (problem) {
    const parsing = `strconv.Atoi: parsing ${JSON.stringify(text)}: ${problem}`;
    throw new CronScheduleError(`failed to parse int from ${text}: ${parsing}`);
  }
  const value = Number(text);
  if (value < 0) throw new CronScheduleError(`negative number (${value}) not allowed: ${text}`);
  return value;
}

function fieldSchedule(fields: Fields, zone: string): CronSchedule {
  const { minutes, hours, daysOfMonth, months, weekdays } = fields;
  const isPossible = [minutes, hours, months].every(({ values }) => values.size > 0);

  function matchesDay(wall: Date): boolean {
    const byMonth = daysOfMonth.values.has(wall.getUTCDate());
    const byWeek = weekdays.values.has(wall.getUTCDay());
    return daysOfMonth.isStar || weekdays.isStar ? byMonth && byWeek : byMonth || byWeek;
  }

  /** Start of the next month, day, hour or minute that may match, or undefined if this minute matches. */
  function skip(ms: number, wall: Date): number | undefined {
    if (!months.values.has(wall.getUTCMonth() + 1))
      return startOfDay(Date.UTC(wall.getUTCFullYear(), wall.getUTCMonth() + 1, 1), zone);
    if (!matchesDay(wall)) return startOfDay(Math.floor(wall.getTime() / day) * day + day, zone);
    if (!hours.values.has(wall.getUTCHours())) return ms + hour - (wall.getTime() % hour);
    if (!minutes.values.has(wall.getUTCMinutes()) || wall.getTime() % minute !== 0)
      return ms + minute - (wall.getTime() % minute);
    return undefined;
  }

  return {
    next(afterMs) {
      if (!isPossible) return undefined;
      let ms = Math.floor(afterMs / second) * second + second;
      let wall = new Date(ms + zoneOffsetMs(zone, ms));
      const lastYear = wall.getUTCFullYear() + 5;
      while (wall.getUTCFullYear() <= lastYear) {
        const later = skip(ms, wall);
        if (later === undefined) return ms;
        ms = later;
        wall = new Date(ms + zoneOffsetMs(zone, ms));
      }
      return undefined;
    },
  };
}

/** First instant of a day that is given as midnight in UTC. A zone that skips midnight starts the day later. */
function startOfDay(midnightUtc: number, zone: string): number {
  const guess = midnightUtc - zoneOffsetMs(zone, midnightUtc);
  let ms = midnightUtc - zoneOffsetMs(zone, guess);
  while (ms + zoneOffsetMs(zone, ms) < midnightUtc) ms += 15 * minute;
  return ms;
}

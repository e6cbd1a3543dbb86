import { CelError, Duration } from "./values.ts";

const units: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  µs: 1_000n,
  μs: 1_000n,
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

/** Days and weeks, which the format `duration` of a schema allows too. */
export const schemaUnits: Readonly<Record<string, bigint>> = {
  ...units,
  d: 86_400_000_000_000n,
  w: 604_800_000_000_000n,
};

const maxLength = 1_000;

/** Parses a duration of Go exactly: `1h30m`, `-1.5s`. Undefined if it is invalid or does not fit into 64 bits. */
export function parseDuration(text: string, unitTable = units): Duration | undefined {
  const [, sign, body = ""] = /^([-+]?)(.*)$/s.exec(text) ?? [];
  if (body === "0") return new Duration(0n);
  if (text.length > maxLength || !/^(?:(?:\d+\.?\d*|\.\d+)[a-zµμ]+)+$/.test(body)) return undefined;
  let sum = 0n;
  for (const [, whole = "", fraction = "", unit = ""] of body.matchAll(/(\d*)\.?(\d*)([a-zµμ]+)/g)) {
    const size = Object.hasOwn(unitTable, unit) ? unitTable[unit] : undefined;
    if (size === undefined) return undefined;
    sum += BigInt(whole || "0") * size + (BigInt(fraction || "0") * size) / 10n ** BigInt(fraction.length);
  }
  const value = sign === "-" ? -sum : sum;
  return BigInt.asIntN(64, value) === value ? new Duration(value) : undefined;
}

/** Seconds with their fraction: `90.5s`. */
export function formatDuration(nanoseconds: bigint): string {
  return `${withFraction(nanoseconds)}s`;
}

function withFraction(nanoseconds: bigint): string {
  const absolute = nanoseconds < 0n ? -nanoseconds : nanoseconds;
  const fraction = String(absolute % 1_000_000_000n)
    .padStart(9, "0")
    .replace(/0+$/, "");
  return `${nanoseconds < 0n ? "-" : ""}${absolute / 1_000_000_000n}${fraction && `.${fraction}`}`;
}

const rfc3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

/** Parses a time of RFC 3339 into nanoseconds since 1970. Undefined if it is invalid. */
export function parseTimestamp(text: string): bigint | undefined {
  const match = text.length <= maxLength ? rfc3339.exec(text) : null;
  if (!match) return undefined;
  const [year, month, day, hour, minute, second] = match.slice(1, 7).map(Number) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  date.setUTCHours(hour, minute, second);
  const isReal =
    date.getUTCMonth() === month - 1 && date.getUTCDate() === day && hour < 24 && minute < 60 && second < 60;
  if (!isReal) return undefined;
  const offset = offsetMinutes(match[8] ?? "Z");
  if (offset === undefined) return undefined;
  const fraction = BigInt((match[7] ?? "").slice(0, 9).padEnd(9, "0"));
  return BigInt(date.getTime() - offset * 60_000) * 1_000_000n + fraction;
}

function offsetMinutes(text: string): number | undefined {
  if (text === "Z") return 0;
  const [, sign, hours, minutes] = /^([+-])(\d\d):(\d\d)$/.exec(text) ?? [];
  if (Number(hours) > 23 || Number(minutes) > 59) return undefined;
  return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes));
}

/** A time of RFC 3339 in UTC, with as many digits of the fraction as needed. */
export function formatTimestamp(nanoseconds: bigint): string {
  const { date, fraction } = split(nanoseconds);
  const digits = String(fraction).padStart(9, "0").replace(/0+$/, "");
  const year = String(date.getUTCFullYear()).padStart(4, "0");
  return `${year}${date
    .toISOString()
    .replace(/^[+-]?\d+/, "")
    .slice(0, -5)}${digits && `.${digits}`}Z`;
}

function split(nanoseconds: bigint): { date: Date; fraction: bigint } {
  const billion = 1_000_000_000n;
  const fraction = ((nanoseconds % billion) + billion) % billion;
  return { date: new Date(Number((nanoseconds - fraction) / 1_000_000n)), fraction };
}

/** Parts of a time in a time zone. */
interface DateParts {
  readonly date: Date;
  readonly milliseconds: number;
}

/** The time as a Date whose UTC fields are those of the time zone: a name, or an offset such as `-08:00`. */
export function inTimeZone(nanoseconds: bigint, zone: string): DateParts | CelError {
  const { date, fraction } = split(nanoseconds);
  const milliseconds = Number(fraction / 1_000_000n);
  const fixed = /^[+-]?\d\d?:\d\d$/.test(zone);
  if (zone === "UTC" || zone === "") return { date, milliseconds };
  const offset = fixed ? offsetMinutes(normalOffset(zone)) : zoneOffset(date, zone);
  if (offset === undefined) return new CelError(`unknown time zone ${zone}`);
  return { date: new Date(date.getTime() + offset * 60_000), milliseconds };
}

function normalOffset(zone: string): string {
  const [, sign = "", hours = "", minutes = ""] = /^([+-]?)(\d\d?):(\d\d)$/.exec(zone) ?? [];
  return `${sign || "+"}${hours.padStart(2, "0")}:${minutes}`;
}

function zoneOffset(date: Date, zone: string): number | undefined {
  try {
    const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" });
    const name = format.formatToParts(date).find(({ type }) => type === "timeZoneName")?.value ?? "";
    return name === "GMT" ? 0 : offsetMinutes(name.replace("GMT", "").slice(0, 6));
  } catch {
    return undefined;
  }
}

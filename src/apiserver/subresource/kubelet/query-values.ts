import { badRequest } from "../../../api/status-error.ts";

/** A flag is on when it is there at all, unless it says `0` or `false`. */
export function readFlag(query: URLSearchParams, name: string): boolean {
  const value = query.get(name);
  return value !== null && value !== "0" && value.toLowerCase() !== "false";
}

export function readInteger(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (value === null) return undefined;
  if (!/^[+-]?\d+$/.test(value)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: invalid syntax`);
  }
  const number = Number(value);
  if (!Number.isSafeInteger(number)) {
    throw badRequest(`strconv.ParseInt: parsing ${JSON.stringify(value)}: value out of range`);
  }
  return number;
}

/** An RFC 3339 time, in milliseconds since the epoch. */
export function readTime(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (!value || value === "null") return undefined;
  const time = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value)
    ? Date.parse(value)
    : Number.NaN;
  if (Number.isNaN(time)) {
    const quoted = JSON.stringify(value);
    throw badRequest(
      `parsing time ${quoted} as "2006-01-02T15:04:05Z07:00": cannot parse ${quoted} as "2006"`,
    );
  }
  return time;
}

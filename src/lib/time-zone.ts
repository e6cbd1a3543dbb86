import { createLruMap } from "./lru-map.ts";

/** Formatters are expensive to create. */
const formatters = createLruMap<Intl.DateTimeFormat>(100);

function formatterOf(zone: string): Intl.DateTimeFormat {
  const known = formatters.get(zone);
  if (known) return known;
  const formatter = new Intl.DateTimeFormat("en-US", {
    timeZone: zone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
    era: "short",
  });
  formatters.set(zone, formatter);
  return formatter;
}

/** Names in the tz database, in their only valid case. Aliases are not included. */
let canonicalNames: ReadonlyMap<string, string> | undefined;

/** Whether the tz database contains a zone. Names are case-sensitive, as in Go. */
export function isTimeZone(zone: string): boolean {
  const isWellFormed = zone
    .split("/")
    .every((part) => /^[A-Za-z._0-9+][A-Za-z.\-_0-9+]{0,13}$/.test(part) && part !== "." && part !== "..");
  if (!isWellFormed || /^[+-]?\d/.test(zone)) return false;
  canonicalNames ??= new Map(Intl.supportedValuesOf("timeZone").map((name) => [name.toLowerCase(), name]));
  if ((canonicalNames.get(zone.toLowerCase()) ?? zone) !== zone) return false;
  try {
    formatterOf(zone);
    return true;
  } catch {
    return false;
  }
}

/** Time zone of this process. */
export function localTimeZone(): string {
  return new Intl.DateTimeFormat().resolvedOptions().timeZone;
}

/** Milliseconds that the wall clock of a zone is ahead of UTC. */
export function zoneOffsetMs(zone: string, ms: number): number {
  if (zone === "UTC") return 0;
  const values: Record<string, string> = {};
  for (const { type, value } of formatterOf(zone).formatToParts(ms)) values[type] = value;
  const { year, month, day, hour, minute, second, era } = values;
  const fullYear = era === "BC" ? 1 - Number(year) : Number(year);
  const wall = Date.UTC(
    fullYear,
    Number(month) - 1,
    Number(day),
    Number(hour),
    Number(minute),
    Number(second),
  );
  return wall - Math.floor(ms / 1_000) * 1_000;
}

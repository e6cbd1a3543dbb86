import { formatDuration, formatTimestamp } from "../time.ts";
import {
  CelError,
  CelList,
  CelMap,
  Duration,
  Timestamp,
  TypeValue,
  typeOf,
  Uint,
  type Value,
} from "../values.ts";
import { formatDouble } from "./conversions.ts";

const defaultPrecision = 6;
/** Limit of our own: a precision is the length of a text. */
const maxPrecision = 100;

/** Problem of a clause with its argument. */
class FormatError extends Error {}

/** `'%s has %d'.format([a, b])`. */
export function formatString(format: string, args: CelList): Value {
  let result = "";
  let next = 0;
  try {
    for (let i = 0; i < format.length; i++) {
      const character = format.charAt(i);
      if (character !== "%") {
        result += character;
        continue;
      }
      if (format.charAt(i + 1) === "%") {
        result += "%";
        i++;
        continue;
      }
      if (next >= args.length) return new CelError(`index ${next} out of range`);
      if (i + 1 >= format.length) return new CelError("unexpected end of string");
      const clause = /^(?:\.(\d+))?(.)?/su.exec(format.slice(i + 1, i + 20)) ?? [];
      result += formatClause(clause[2] ?? "", clause[1], args.at(next++));
      i += clause[0]?.length ?? 1;
    }
    return result;
  } catch (error) {
    if (!(error instanceof FormatError)) throw error;
    return new CelError(error.message);
  }
}

function formatClause(clause: string, digits: string | undefined, value: Value): string {
  const precision = digits === undefined ? defaultPrecision : Number(digits);
  const fail = (detail: string) =>
    new FormatError(`error during formatting: ${detail}, was given ${typeOf(value).name}`);
  if (precision > maxPrecision) throw new FormatError("error during formatting: precision too large");
  const integer = value instanceof Uint ? value.value : value;
  switch (clause) {
    case "s":
      return show(value);
    case "d":
      if (typeof integer !== "bigint") throw fail("decimal clause can only be used on integers");
      return String(integer);
    case "f":
      return toDouble(value, fail("fixed-point clause can only be used on doubles"), (number) =>
        grouped(number, precision),
      );
    case "e":
      return toDouble(value, fail("scientific clause can only be used on doubles"), (number) =>
        number.toExponential(precision).replace(/e([+-])(\d)$/, "e$10$2"),
      );
    case "b":
      if (typeof value === "boolean") return value ? "1" : "0";
      if (typeof integer !== "bigint") throw fail("only integers and bools can be formatted as binary");
      return integer.toString(2);
    case "o":
      if (typeof integer !== "bigint") throw fail("octal clause can only be used on integers");
      return integer.toString(8);
    case "x":
    case "X": {
      const hex = toHex(integer);
      if (hex === undefined) throw fail("only integers, byte buffers, and strings can be formatted as hex");
      return clause === "X" ? hex.toUpperCase() : hex;
    }
    default:
      throw new FormatError(`could not parse formatting clause: unrecognized formatting clause "${clause}"`);
  }
}

function toHex(value: Value): string | undefined {
  if (typeof value === "bigint") return value.toString(16);
  if (typeof value === "string" || value instanceof Uint8Array)
    return Buffer.from(value as string).toString("hex");
  return undefined;
}

function toDouble(value: Value, error: FormatError, format: (value: number) => string): string {
  if (value === "NaN" || value === "Infinity" || value === "-Infinity") return value.replace("Infinity", "∞");
  if (typeof value !== "number") throw error;
  if (Number.isNaN(value)) return "NaN";
  return Number.isFinite(value) ? format(value) : value > 0 ? "∞" : "-∞";
}

/** As upstream's locale (en-US), with separators of thousands. */
function grouped(value: number, precision: number): string {
  return value.toLocaleString("en-US", {
    minimumFractionDigits: precision,
    maximumFractionDigits: precision,
  });
}

function show(value: Value): string {
  if (typeof value === "string") return value;
  if (value === null) return "null";
  if (typeof value === "number") return formatDouble(value);
  if (value instanceof Uint) return String(value.value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("utf8");
  if (value instanceof Duration) return formatDuration(value.nanoseconds);
  if (value instanceof Timestamp) return formatTimestamp(value.nanoseconds);
  if (value instanceof TypeValue) return value.type.name;
  if (value instanceof CelList) return `[${[...value.values()].map(quoted).join(", ")}]`;
  if (value instanceof CelMap) {
    const pairs = [...value.keys()].map((key) => [quoted(key), quoted(value.find(key) ?? null)] as const);
    pairs.sort(([a], [b]) => (a < b ? -1 : 1));
    return `{${pairs.map(([key, item]) => `${key}:${item}`).join(", ")}}`;
  }
  if (typeof value === "object") {
    const types = "strings, bools, bytes, ints, doubles, maps, lists, types, durations, and timestamps";
    throw new FormatError(
      `error during formatting: string clause can only be used on ${types}, was given ${typeOf(value).name}`,
    );
  }
  return String(value);
}

/** A value inside of a list or map. */
function quoted(value: Value): string {
  if (typeof value === "string") return JSON.stringify(value);
  if (value instanceof Uint8Array) return `b${JSON.stringify(show(value))}`;
  if (value instanceof Timestamp) return `timestamp(${JSON.stringify(show(value))})`;
  if (value instanceof Duration) return `duration(${JSON.stringify(show(value))})`;
  if (typeof value === "number")
    return Number.isFinite(value) ? value.toFixed(defaultPrecision) : `"${formatDouble(value)}"`;
  return show(value);
}

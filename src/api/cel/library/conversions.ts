import { type FunctionDeclaration, fn, type Implementation, member } from "../functions.ts";
import { codePoints } from "../parser.ts";
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from "../time.ts";
import { formatType } from "../type.ts";
import {
  CelError,
  type CelList,
  CelMap,
  type Duration,
  type Timestamp,
  TypeValue,
  typeOf,
  Uint,
  type Value,
} from "../values.ts";
import { toInt, toTimestamp, toUint } from "./arithmetic.ts";

function identity([value = null]: readonly Value[]): Value {
  return value;
}

function from<T extends Value>(convert: (value: T) => Value): Implementation {
  return ([value]) => convert(value as T);
}

function conversionError(from: string, to: string): CelError {
  return new CelError(`type conversion error from '${from}' to '${to}'`);
}

const parseInteger = (make: (value: bigint) => Value, to: string, pattern: RegExp) =>
  from<string>((text) => {
    const error = conversionError("string", to);
    if (!pattern.test(text)) return error;
    const value = make(BigInt(text.replace(/^\+/, "")));
    return value instanceof CelError ? error : value;
  });

const decimal =
  /^[+-]?(?:inf(?:inity)?|nan|(?:\d[\d_]*\.?\d*|\.\d+)(?:e[+-]?\d+)?|0x[\da-f]*\.?[\da-f]*p[+-]?\d+)$/i;

function parseDouble(text: string): Value {
  if (!decimal.test(text) || text.includes("_") || /^[+-]?0x/i.test(text))
    return conversionError("string", "double");
  if (/inf/i.test(text)) return text.startsWith("-") ? -Infinity : Infinity;
  if (/nan/i.test(text)) return Number.NaN;
  const value = Number(text);
  return Number.isFinite(value) ? value : conversionError("string", "double");
}

const trueTexts = ["1", "t", "T", "TRUE", "true", "True"];
const falseTexts = ["0", "f", "F", "FALSE", "false", "False"];

function truncated(value: number, make: (value: bigint) => Value, overflow: string): Value {
  // As cel-go, the bounds themselves are not representable.
  if (!Number.isFinite(value)) return new CelError(overflow);
  const result = make(BigInt(Math.trunc(value)));
  return result instanceof CelError || value <= -(2 ** 63) ? new CelError(overflow) : result;
}

/** A double as `%g` of Go formats it. */
export function formatDouble(value: number): string {
  if (Number.isNaN(value)) return "NaN";
  if (!Number.isFinite(value)) return value > 0 ? "+Inf" : "-Inf";
  if (Object.is(value, -0)) return "-0";
  if (value === 0) return "0";
  const [digits = "", power = "0"] = value.toExponential().split("e");
  const exponent = Number(power);
  if (exponent >= -4 && exponent < 6) return plain(value);
  return shortExponent(digits, exponent);
}

function shortExponent(digits: string, exponent: number): string {
  const sign = exponent < 0 ? "-" : "+";
  return `${digits}e${sign}${String(Math.abs(exponent)).padStart(2, "0")}`;
}

/** A number without an exponent. */
function plain(value: number): string {
  const text = String(value);
  if (!text.includes("e")) return text;
  const [digits = "", power = "0"] = text.split("e");
  const [whole = "", fraction = ""] = digits.replace("-", "").split(".");
  const exponent = Number(power);
  const sign = value < 0 ? "-" : "";
  if (exponent < 0) return `${sign}0.${"0".repeat(-exponent - 1)}${whole}${fraction}`;
  return `${sign}${whole}${fraction.padEnd(exponent, "0")}`;
}

function decodeUtf8(bytes: Uint8Array): Value {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    return new CelError("invalid UTF-8 in bytes, cannot convert to string");
  }
}

const second = 1_000_000_000n;

/** Size of a value: code points of a string, otherwise items. */
function sizeOf([value]: readonly Value[]): Value {
  if (typeof value === "string") return BigInt(codePoints(value));
  if (value instanceof CelMap) return BigInt(value.size);
  return BigInt((value as CelList | Uint8Array).length);
}

function runtimeType([value = null]: readonly Value[]): Value {
  return new TypeValue(typeOf(value));
}

/** Text of a key or value in the message of an error. */
export function showValue(value: Value): string {
  if (typeof value === "string") return value;
  if (typeof value === "number") return formatDouble(value);
  if (value instanceof Uint) return value.value.toString();
  if (value === null) return "null";
  return typeof value === "object" ? formatType(typeOf(value)) : String(value);
}

export const conversions: readonly FunctionDeclaration[] = [
  { ...fn("type", ["type", "A -> type(A)", runtimeType]), isSingleton: true },
  { ...fn("dyn", ["to_dyn", "A -> dyn", identity]), isSingleton: true },
  fn(
    "bool",
    ["bool_to_bool", "bool -> bool", identity],
    [
      "string_to_bool",
      "string -> bool",
      from<string>((text) =>
        trueTexts.includes(text)
          ? true
          : falseTexts.includes(text)
            ? false
            : conversionError("string", "bool"),
      ),
    ],
  ),
  fn(
    "bytes",
    ["bytes_to_bytes", "bytes -> bytes", identity],
    ["string_to_bytes", "string -> bytes", from<string>((text) => new TextEncoder().encode(text))],
  ),
  fn(
    "double",
    ["double_to_double", "double -> double", identity],
    ["int64_to_double", "int -> double", from<bigint>((value) => Number(value))],
    ["string_to_double", "string -> double", from<string>(parseDouble)],
    ["uint64_to_double", "uint -> double", from<Uint>(({ value }) => Number(value))],
  ),
  fn(
    "duration",
    ["duration_to_duration", "duration -> duration", identity],
    ["int64_to_duration", "int -> duration", () => conversionError("int", "google.protobuf.Duration")],
    [
      "string_to_duration",
      "string -> duration",
      from<string>((text) => parseDuration(text) ?? conversionError("string", "google.protobuf.Duration")),
    ],
  ),
  fn(
    "int",
    ["int64_to_int64", "int -> int", identity],
    [
      "double_to_int64",
      "double -> int",
      from<number>((value) => truncated(value, toInt, "integer overflow")),
    ],
    ["duration_to_int64", "duration -> int", from<Duration>(({ nanoseconds }) => nanoseconds)],
    ["string_to_int64", "string -> int", parseInteger(toInt, "int", /^[+-]?\d+$/)],
    [
      "timestamp_to_int64",
      "timestamp -> int",
      from<Timestamp>(({ nanoseconds }) => floorDivide(nanoseconds, second)),
    ],
    ["uint64_to_int64", "uint -> int", from<Uint>(({ value }) => toInt(value))],
  ),
  fn(
    "string",
    ["string_to_string", "string -> string", identity],
    ["bool_to_string", "bool -> string", from<boolean>(String)],
    ["bytes_to_string", "bytes -> string", from<Uint8Array>(decodeUtf8)],
    ["double_to_string", "double -> string", from<number>(formatDouble)],
    [
      "duration_to_string",
      "duration -> string",
      from<Duration>(({ nanoseconds }) => formatDuration(nanoseconds)),
    ],
    ["int64_to_string", "int -> string", from<bigint>(String)],
    [
      "timestamp_to_string",
      "timestamp -> string",
      from<Timestamp>(({ nanoseconds }) => formatTimestamp(nanoseconds)),
    ],
    ["uint64_to_string", "uint -> string", from<Uint>(({ value }) => String(value))],
  ),
  fn(
    "timestamp",
    ["timestamp_to_timestamp", "timestamp -> timestamp", identity],
    ["int64_to_timestamp", "int -> timestamp", from<bigint>((value) => toTimestamp(value * second))],
    [
      "string_to_timestamp",
      "string -> timestamp",
      from<string>((text) => {
        const nanoseconds = parseTimestamp(text);
        return nanoseconds === undefined
          ? conversionError("string", "google.protobuf.Timestamp")
          : toTimestamp(nanoseconds);
      }),
    ],
  ),
  fn(
    "uint",
    ["uint64_to_uint64", "uint -> uint", identity],
    [
      "double_to_uint64",
      "double -> uint",
      from<number>((value) => truncated(value, toUint, "unsigned integer overflow")),
    ],
    ["int64_to_uint64", "int -> uint", from<bigint>(toUint)],
    ["string_to_uint64", "string -> uint", parseInteger(toUint, "uint", /^\d+$/)],
  ),
  {
    ...fn(
      "size",
      ["size_bytes", "bytes -> int", sizeOf],
      ["size_list", "list(A) -> int", sizeOf],
      ["size_map", "map(A, B) -> int", sizeOf],
      ["size_string", "string -> int", sizeOf],
    ),
    isSingleton: true,
  },
  member(
    "size",
    ["bytes_size", "bytes -> int", sizeOf],
    ["list_size", "list(A) -> int", sizeOf],
    ["map_size", "map(A, B) -> int", sizeOf],
    ["string_size", "string -> int", sizeOf],
  ),
];

function floorDivide(value: bigint, by: bigint): bigint {
  const quotient = value / by;
  return value % by < 0n ? quotient - 1n : quotient;
}

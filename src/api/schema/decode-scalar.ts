import { canonicalQuantity, QuantityError } from "../meta/quantity.ts";
import { DecodeError, jsonKind, MismatchError } from "./decode-error.ts";
import { assertDepth } from "./json-object.ts";
import type { FieldType, Scalar } from "./schema.ts";

/** Validates a value and returns its canonical form. Throws MismatchError or DecodeError. */
type DecodeScalar = (value: unknown) => unknown;

interface ScalarCodec {
  readonly decode: DecodeScalar;
  /** Zero value: replaces null in lists and maps; optional fields with this value are omitted. */
  readonly zero: unknown;
  /** Whether Go writes the field even if it has its zero value. */
  readonly alwaysWritten?: boolean;
}

export const scalarCodecs: Readonly<Record<Scalar, ScalarCodec>> = {
  string: { decode: typed("string", "string"), zero: "" },
  bool: { decode: typed("boolean", "bool"), zero: false },
  int32: { decode: integer("int32", 2 ** 31), zero: 0 },
  int64: { decode: integer("int64", 2 ** 63), zero: 0 },
  double: { decode: typed("number", "double"), zero: 0 },
  bytes: { decode: decodeBytes, zero: "" },
  time: { decode: (value) => canonicalTime(stringOf(value)), zero: null, alwaysWritten: true },
  microTime: { decode: (value) => canonicalMicroTime(stringOf(value)), zero: null, alwaysWritten: true },
  quantity: { decode: decodeQuantity, zero: "0", alwaysWritten: true },
  intOrString: { decode: decodeIntOrString, zero: 0, alwaysWritten: true },
  json: { decode: decodeJson, zero: null, alwaysWritten: true },
  fieldsV1: { decode: decodeJson, zero: null, alwaysWritten: true },
};

function typed(jsType: "string" | "boolean" | "number", scalar: Scalar): DecodeScalar {
  const expected: FieldType = { kind: "scalar", scalar };
  return (value) => {
    if (typeof value !== jsType) throw new MismatchError(value, expected);
    return value;
  };
}

function integer(scalar: "int32" | "int64", limit: number): DecodeScalar {
  const expected: FieldType = { kind: "scalar", scalar };
  return (value) => {
    if (typeof value !== "number") throw new MismatchError(value, expected);
    if (!Number.isInteger(value) || value >= limit || value < -limit) {
      throw new MismatchError(value, expected);
    }
    // Converts minus zero to zero.
    return value + 0;
  };
}

/** Reads a string that upstream unmarshals separately, so that its message contains no field. */
function stringOf(value: unknown): string {
  if (typeof value === "string") return value;
  throw new DecodeError(`json: cannot unmarshal ${jsonKind(value)} into Go value of type string`);
}

function decodeIntOrString(value: unknown): unknown {
  if (typeof value === "string") return value;
  if (typeof value === "number" && Number.isInteger(value) && Math.abs(value) < 2 ** 31) return value;
  const shown = typeof value === "number" ? ` ${value}` : "";
  throw new DecodeError(`json: cannot unmarshal ${jsonKind(value)}${shown} into Go value of type int32`);
}

const canonicalBinary = /^[1-9][0-9]{0,2}[KMGT]i$/;

function decodeQuantity(value: unknown): string {
  if (typeof value === "string" && canonicalBinary.test(value)) return value;
  try {
    // A number is parsed from its text. Other values are not quantities.
    return canonicalQuantity(
      typeof value === "string" || typeof value === "number" ? String(value).trim() : "",
    );
  } catch (error) {
    if (error instanceof QuantityError) throw new DecodeError(error.message);
    throw error;
  }
}

function decodeBytes(value: unknown): string {
  const text = stringOfBytes(value).replace(/[\r\n]/g, "");
  if (text.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(text)) return text;
  const at = text.search(/[^A-Za-z0-9+/]/);
  throw new DecodeError(`illegal base64 data at input byte ${at < 0 ? text.length : at}`);
}

function stringOfBytes(value: unknown): string {
  if (typeof value === "string") return value;
  throw new MismatchError(value, { kind: "scalar", scalar: "bytes" });
}

/** Keeps free-form JSON unchanged. */
function decodeJson(value: unknown): unknown {
  assertDepth(value);
  return value;
}

const secondsLayout = "2006-01-02T15:04:05Z07:00";
const microsLayout = "2006-01-02T15:04:05.000000Z07:00";

// Matches most times: canonical, with a day that every month has.
const minute = String.raw`\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3]):[0-5]\d`;
const plainTime = new RegExp(String.raw`^${minute}:[0-5]\dZ$`);
const plainMicroTime = new RegExp(String.raw`^${minute}:[0-5]\d\.\d{6}Z$`);

/** Canonical form of a time: UTC, whole seconds. */
export function canonicalTime(text: string): string {
  if (plainTime.test(text)) return text;
  return formatUtc(parse(text, secondsLayout), "");
}

/** Canonical form of Lease and event times: UTC, microseconds, which the text must contain. */
export function canonicalMicroTime(text: string): string {
  if (plainMicroTime.test(text)) return text;
  const time = parse(text, microsLayout);
  if (time.fraction.length !== 6) throw unreadable(text, microsLayout, 19);
  return formatUtc(time, `.${time.fraction}`);
}

interface ParsedTime {
  readonly date: Date;
  /** Digits of the fraction of a second. */
  readonly fraction: string;
}

const shape = /^(\d{4}-(\d\d)-\d\dT(\d\d):(\d\d):(\d\d))(?:[.,](\d+))?(?:Z|([+-])(\d\d):(\d\d))$/;

function parse(text: string, layout: string): ParsedTime {
  const match = shape.exec(text);
  if (!match) throw unreadable(text, layout, 0);
  const [, local = "", month, hour, minute, second, fraction = "", sign, offsetHours = 0, offsetMinutes = 0] =
    match;
  for (const [part, value, max] of [
    ["month", month, 12],
    ["hour", hour, 23],
    ["minute", minute, 59],
    ["second", second, 59],
  ] as const) {
    if (Number(value) > max) throw outOfRange(text, part);
  }
  // A date that does not exist becomes another or an invalid date.
  const date = new Date(`${local}Z`);
  if (Number.isNaN(date.getTime()) || !date.toISOString().startsWith(local)) throw outOfRange(text, "day");
  const offset = Number(offsetHours) * 60 + Number(offsetMinutes);
  date.setUTCMinutes(date.getUTCMinutes() + (sign === "-" ? offset : -offset));
  if (date.getUTCFullYear() < 0 || date.getUTCFullYear() > 9999) throw outOfRange(text, "year");
  return { date, fraction };
}

function formatUtc({ date }: ParsedTime, fraction: string): string {
  return `${date.toISOString().slice(0, 19)}${fraction}Z`;
}

/** Error in Go's words, with the position where parsing stopped: the start or the fraction of a second. */
function unreadable(text: string, layout: string, at: 0 | 19): DecodeError {
  const rest = JSON.stringify(text.slice(at));
  const element = at === 0 ? "2006" : ".000000";
  return new DecodeError(
    `parsing time ${JSON.stringify(text)} as ${JSON.stringify(layout)}: cannot parse ${rest} as "${element}"`,
  );
}

function outOfRange(text: string, part: string): DecodeError {
  return new DecodeError(`parsing time ${JSON.stringify(text)}: ${part} out of range`);
}

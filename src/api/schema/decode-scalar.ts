import { canonicalQuantity, QuantityError } from "../quantity.ts";
import { assertDepth } from "./assert-depth.ts";
import { canonicalMicroTime, canonicalTime } from "./canonical-time.ts";
import { DecodeError, jsonKind, MismatchError } from "./decode-error.ts";
import type { FieldType, Scalar } from "./schema.ts";

/** Checks one value and gives it in the form in which the API keeps it. Throws MismatchError or DecodeError. */
type DecodeScalar = (value: unknown) => unknown;

interface ScalarCodec {
  readonly decode: DecodeScalar;
  /** What a null in a list or map stands for, and what an optional field is left out for. */
  readonly zero: unknown;
  /** Go writes it even when it is zero. */
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
    // Minus zero is zero, also in what is stored.
    return value + 0;
  };
}

/** For values that upstream unmarshals by themselves: its message then has no field. */
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
    // A number is read by its text; nothing else is a quantity, no more than nothing is.
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

/** Free-form JSON is kept as it is. */
function decodeJson(value: unknown): unknown {
  assertDepth(value);
  return value;
}

import { WireType } from "@bufbuild/protobuf/wire";
import { DecodeError } from "../decode-error.ts";
import { assertDepth } from "../json-object.ts";
import type { Scalar } from "../schema.ts";
import { messageWith, type Value, wrapped } from "./message.ts";

const string: Value = { wire: WireType.LengthDelimited, read: (reader) => reader.string() };
const int32: Value = { wire: WireType.Varint, read: (reader) => reader.int32() };
// Values above 2^53 lose precision, like in JSON.
const int64: Value = { wire: WireType.Varint, read: (reader) => Number(reader.int64()) };
const json = wrapped(messageWith({ raw: string }), toJson);

/** Values that are scalars in JSON. Many of them are messages in protobuf. */
export const scalarValues: Readonly<Record<Scalar, Value>> = {
  string,
  int32,
  int64,
  bool: { wire: WireType.Varint, read: (reader) => reader.bool() },
  double: { wire: WireType.Bit64, read: (reader) => toFinite(reader.double()) },
  bytes: { wire: WireType.LengthDelimited, read: (reader) => Buffer.from(reader.bytes()).toString("base64") },
  time: wrapped(messageWith({ seconds: int64 }), toTime),
  microTime: wrapped(messageWith({ seconds: int64, nanos: int32 }), toMicroTime),
  quantity: wrapped(messageWith({ string }), (fields: { string?: string }) => fields.string ?? "0"),
  intOrString: wrapped(messageWith({ type: int32, intVal: int32, strVal: string }), toIntOrString),
  json,
  fieldsV1: json,
};

/** Rejects the numbers that JSON does not have. */
function toFinite(value: number): number {
  if (!Number.isFinite(value)) throw new DecodeError(`json: unsupported value: ${value}`);
  return value;
}

/** Converts a time. Upstream encodes Go's zero time as an empty message and reads only whole seconds. */
function toTime({ seconds }: { seconds?: number }): string | null {
  return seconds === undefined ? null : `${wholeSeconds(seconds)}Z`;
}

function toMicroTime({ seconds, nanos = 0 }: { seconds?: number; nanos?: number }): string | null {
  if (seconds === undefined) return null;
  const micros = String(Math.trunc(nanos / 1000)).padStart(6, "0");
  return `${wholeSeconds(seconds)}.${micros}Z`;
}

function wholeSeconds(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace(".000Z", "");
}

function toIntOrString(fields: { type?: number; intVal?: number; strVal?: string }): string | number {
  const { type = 0, intVal = 0, strVal = "" } = fields;
  if (type === 0) return intVal;
  if (type === 1) return strVal;
  throw new DecodeError("impossible IntOrString.Type");
}

/** Parses free-form JSON and checks its depth, because JSON.stringify would overflow the stack. */
function toJson({ raw }: { raw?: string }): unknown {
  const value: unknown = raw ? JSON.parse(raw) : null;
  assertDepth(value);
  return value;
}

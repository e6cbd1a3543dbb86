import { WireType } from "@bufbuild/protobuf/wire";
import { assertDepth } from "../schema/assert-depth.ts";
import { DecodeError } from "../schema/decode-error.ts";
import type { Scalar } from "../schema/schema.ts";
import { messageWith, wrapped } from "./fields.ts";
import type { Value } from "./message.ts";

const string: Value = { wire: WireType.LengthDelimited, read: (reader) => reader.string() };
const int32: Value = { wire: WireType.Varint, read: (reader) => reader.int32() };
// Beyond 2^53 it is as near as a number comes, which is how JSON is read too.
const int64: Value = { wire: WireType.Varint, read: (reader) => Number(reader.int64()) };
const json = wrapped(messageWith({ raw: string }), toJson);

/** What is one value in JSON. Protobuf has messages for many of them. */
export const scalarValues: Readonly<Record<Scalar, Value>> = {
  string,
  int32,
  int64,
  bool: { wire: WireType.Varint, read: (reader) => reader.bool() },
  double: { wire: WireType.Bit64, read: (reader) => reader.double() },
  bytes: { wire: WireType.LengthDelimited, read: (reader) => Buffer.from(reader.bytes()).toString("base64") },
  time: wrapped(messageWith({ seconds: int64 }), toTime),
  microTime: wrapped(messageWith({ seconds: int64, nanos: int32 }), toMicroTime),
  quantity: wrapped(messageWith({ string }), (fields: { string?: string }) => fields.string ?? "0"),
  intOrString: wrapped(messageWith({ type: int32, intVal: int32, strVal: string }), toIntOrString),
  json,
  fieldsV1: json,
};

/** Upstream writes Go's zero time as an empty message, and reads whole seconds only. */
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

/** The depth is checked before JSON.stringify, which runs out of stack, sees the value. */
function toJson({ raw }: { raw?: string }): unknown {
  const value: unknown = raw ? JSON.parse(raw) : null;
  assertDepth(value);
  return value;
}

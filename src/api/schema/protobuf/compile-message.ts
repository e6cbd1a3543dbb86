import { WireType } from "@bufbuild/protobuf/wire";
import { DecodeError } from "../decode-error.ts";
import { assertDepth } from "../json-object.ts";
import { type FieldType, parseType, type Scalar, type Schema } from "../schema.ts";
import {
  type Field,
  inlined,
  list,
  type Message,
  map,
  messageWith,
  singular,
  struct,
  type Value,
  wrapped,
} from "./message.ts";

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
  double: { wire: WireType.Bit64, read: (reader) => reader.double() },
  bytes: { wire: WireType.LengthDelimited, read: (reader) => Buffer.from(reader.bytes()).toString("base64") },
  time: wrapped(messageWith({ seconds: int64 }), toTime),
  microTime: wrapped(messageWith({ seconds: int64, nanos: int32 }), toMicroTime),
  quantity: wrapped(messageWith({ string }), (fields: { string?: string }) => fields.string ?? "0"),
  intOrString: wrapped(messageWith({ type: int32, intVal: int32, strVal: string }), toIntOrString),
  json,
  fieldsV1: json,
};

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

const compiledSchemas = new WeakMap<Schema, Map<string, Message>>();

/** Protobuf message of a definition, compiled on first use with everything it contains: no definition contains itself. */
export function messageNamed(schema: Schema, definition: string): Message {
  const compiled = compiledSchemas.get(schema) ?? new Map<string, Message>();
  compiledSchemas.set(schema, compiled);
  let message = compiled.get(definition);
  if (!message) {
    message = compileMessage(schema, definition, schema.definition(definition).fields);
    compiled.set(definition, message);
  }
  return message;
}

/** Compiles a message. Types are those of the definition, or of the one that the message is inlined in. */
function compileMessage(schema: Schema, name: string, types: Readonly<Record<string, string>>): Message {
  const numbers = schema.fieldNumbers(name);
  if (!numbers) throw new Error(`no protobuf field numbers for ${name}`);
  const message: Field[] = [];
  for (const [field, number] of numbers) {
    if (field.startsWith("...")) {
      message[number] = inlined(field, compileMessage(schema, field.slice(3), types));
    } else {
      const type = types[field];
      if (!type) throw new Error(`${name} has a number for ${field}, which the schema does not have`);
      message[number] = compileField(schema, field, parseType(type));
    }
  }
  return message;
}

function compileField(schema: Schema, name: string, type: FieldType): Field {
  switch (type.kind) {
    case "struct":
      return struct(name, messageNamed(schema, type.definition));
    case "list":
      return list(name, compileValue(schema, type.items));
    case "map":
      return map(name, scalarValues.string, compileValue(schema, type.values));
    case "scalar":
      return singular(name, scalarValues[type.scalar]);
  }
}

/** Compiles the value of a list or map. */
function compileValue(schema: Schema, type: FieldType): Value {
  switch (type.kind) {
    case "struct":
      return wrapped(messageNamed(schema, type.definition), (fields) => fields);
    case "list":
      // Maps contain only messages, so the list is wrapped in one.
      return wrapped(
        [undefined, compileField(schema, "items", type)],
        ({ items = [] }: { items?: unknown[] }) => items,
      );
    case "map":
      throw new Error("protobuf has no lists or maps of maps");
    case "scalar":
      return scalarValues[type.scalar];
  }
}

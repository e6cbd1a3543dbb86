import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { badRequest, unsupportedMediaType } from "../../meta/status-error.ts";
import { DecodeError } from "../decode-error.ts";
import { assertDepth, type JsonObject } from "../json-object.ts";
import { definitionName, type FieldType, parseType, type Scalar, type Schema } from "../schema.ts";
import {
  type Field,
  inlined,
  list,
  type Message,
  map,
  messageWith,
  readFields,
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
const scalarValues: Readonly<Record<Scalar, Value>> = {
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

const prefix = Buffer.from("k8s\0");

/** Envelope of every body: the name of a kind and the encoded object. */
interface Envelope {
  typeMeta?: { apiVersion?: string; kind?: string };
  raw?: Uint8Array;
}

const envelope: Message = [
  undefined,
  struct("typeMeta", messageWith({ apiVersion: scalarValues.string, kind: scalarValues.string })),
  singular("raw", { wire: WireType.LengthDelimited, read: (reader) => reader.bytes() }),
];

/**
 * Converts an application/vnd.kubernetes.protobuf body to JSON. Unlike JSON from Go, the result contains empty values.
 * Throws 400.
 */
export function protobufToJson(schema: Schema, body: Buffer): JsonObject {
  const unrecognized = "the object provided is unrecognized";
  if (!body.subarray(0, prefix.length).equals(prefix)) {
    throw badRequest(
      `${unrecognized}: provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]`,
    );
  }
  const { typeMeta, raw }: Envelope = readWhole(body.subarray(prefix.length), envelope, {
    target: {},
    failure: unrecognized,
  });
  const { apiVersion = "", kind = "" } = typeMeta ?? {};
  if (!apiVersion || !kind) throw badRequest(`${unrecognized}: its apiVersion or kind is missing`);

  const [version = "", group = ""] = apiVersion.split("/").reverse();
  const target = { apiVersion, kind };
  // The kinds of meta/v1, such as DeleteOptions, belong to every group and version.
  const definition = [definitionName({ group, version, kind }), `meta.v1.${kind}`].find(
    (name) => schema.has(name) && schema.fieldNumbers(name) !== undefined,
  );
  // Custom resources and their definitions have no protobuf form here. Every kind has a list.
  if (!definition && schema.has(`${definitionName({ group, version, kind })}List`))
    throw unsupportedMediaType(
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml",
    );
  // The name of a kind without a message is enough: the caller rejects an unexpected kind.
  if (!definition || !raw) return target;
  const failure = `${kind} in version ${JSON.stringify(version)} cannot be handled as a ${kind}`;
  return readWhole(raw, messageNamed(schema, definition), { target, failure });
}

/** Reads the whole message. Every error is a bad request, because the result depends only on the bytes. */
function readWhole(
  bytes: Uint8Array,
  message: Message,
  { target, failure }: { target: JsonObject; failure: string },
): JsonObject {
  try {
    return readFields(new BinaryReader(bytes), message, { end: bytes.length, target });
  } catch (error) {
    throw badRequest(`${failure}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

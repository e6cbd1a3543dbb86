import { WireType } from "@bufbuild/protobuf/wire";
import { badRequest, unsupportedMediaType } from "../../meta/status-error.ts";
import type { JsonObject } from "../json-object.ts";
import { definitionName, type FieldType, parseType, type Schema } from "../schema.ts";
import { unionField } from "./json-schema-unions.ts";
import {
  type Field,
  inlined,
  list,
  type Message,
  MessageReader,
  map,
  messageWith,
  readFields,
  singular,
  struct,
  type Value,
  wrapped,
} from "./message.ts";
import { scalarValues } from "./scalar-values.ts";

const compiledSchemas = new WeakMap<Schema, Map<string, Message>>();

/** Protobuf message of a definition, compiled on first use with everything it contains. */
export function messageNamed(schema: Schema, definition: string): Message {
  const compiled = compiledSchemas.get(schema) ?? new Map<string, Message>();
  compiledSchemas.set(schema, compiled);
  let message = compiled.get(definition);
  if (!message) {
    const fields: Field[] = [];
    message = fields;
    // Before its fields, because the message may contain itself.
    compiled.set(definition, message);
    compileFields(schema, definition, { types: schema.definition(definition).fields, message: fields });
  }
  return message;
}

/** Adds the fields to a message. Types are those of the definition, or of the one that the message is inlined in. */
function compileFields(
  schema: Schema,
  name: string,
  { types, message }: { types: Readonly<Record<string, string>>; message: Field[] },
): Message {
  const numbers = schema.fieldNumbers(name);
  if (!numbers) throw new Error(`no protobuf field numbers for ${name}`);
  for (const [field, number] of numbers) {
    if (field.startsWith("...")) {
      message[number] = inlined(field, compileFields(schema, field.slice(3), { types, message: [] }));
    } else {
      const type = types[field];
      if (!type) throw new Error(`${name} has a number for ${field}, which the schema does not have`);
      message[number] =
        unionField(name, field, (definition) => messageNamed(schema, definition)) ??
        compileField(schema, field, parseType(type));
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
 * Throws 400, and 415 for custom resources.
 */
export function protobufToJson(schema: Schema, body: Buffer): JsonObject {
  // Custom resources have no protobuf form.
  if (schema.decode)
    throw unsupportedMediaType(
      "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml",
    );
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
    return readFields(new MessageReader(bytes), message, { end: bytes.length, target });
  } catch (error) {
    throw badRequest(`${failure}: ${error instanceof Error ? error.message : String(error)}`);
  }
}

import { BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { DecodeError } from "../decode-error.ts";
import { type JsonObject, maxDepth } from "../json-object.ts";

/** Reader with the depth of the message that it reads. Schemas of custom resources contain themselves. */
export class MessageReader extends BinaryReader {
  depth = 0;
}

/** Fields of a message by number. */
export type Message = readonly (Field | undefined)[];

/** `readInto` reads one occurrence of the field into the object that it is part of. */
export interface Field {
  readonly name: string;
  readonly wire: WireType;
  readonly isList?: boolean;
  readInto(reader: MessageReader, target: JsonObject): void;
}

/** Encoding of a value. `read` returns it in its JSON form. */
export interface Value {
  readonly wire: WireType;
  read(reader: MessageReader): unknown;
}

/** Reads a length-prefixed message. Throws DecodeError when it is nested too deeply for recursion. */
function readMessage(reader: MessageReader, message: Message, target: JsonObject): JsonObject {
  if (++reader.depth > maxDepth) throw new DecodeError("exceeded max depth");
  readFields(reader, message, { end: reader.uint32() + reader.pos, target });
  reader.depth--;
  return target;
}

/** Reads fields into the target. Skips unknown fields, which newer clients send. Also throws errors of the reader. */
export function readFields(
  reader: MessageReader,
  message: Message,
  { end, target }: { end: number; target: JsonObject },
): JsonObject {
  while (reader.pos < end) {
    const [number, wire] = reader.tag();
    const field = message[number];
    if (!field) reader.skip(wire, number);
    else if (wire === field.wire) field.readInto(reader, target);
    else if (field.isList && wire === WireType.LengthDelimited) readPacked(reader, field, target);
    else throw new DecodeError(`proto: wrong wireType = ${wire} for field ${field.name}`);
  }
  assertEnd(reader, end);
  return target;
}

/** Reads packed numbers of a list: one block without tags. */
function readPacked(reader: MessageReader, field: Field, target: JsonObject): void {
  const end = reader.uint32() + reader.pos;
  while (reader.pos < end) field.readInto(reader, target);
  assertEnd(reader, end);
}

/** Checks that the last value did not exceed the message that contains it. The reader itself checks only the body. */
function assertEnd(reader: MessageReader, end: number): void {
  if (reader.pos !== end) throw new DecodeError("unexpected EOF");
}

/** Message with these values as fields, numbered from 1. */
export function messageWith(values: Readonly<Record<string, Value>>): Message {
  return [undefined, ...Object.entries(values).map(([name, value]) => singular(name, value))];
}

/** Message that is a single value in JSON. All of its `Fields` may be missing. */
export function wrapped<Fields>(message: Message, unwrap: (fields: Fields) => unknown): Value {
  return {
    wire: WireType.LengthDelimited,
    read: (reader) => unwrap(readMessage(reader, message, {}) as Fields),
  };
}

/** Field with one value. The last occurrence wins. */
export function singular(name: string, { wire, read }: Value): Field {
  return {
    name,
    wire,
    readInto(reader, target) {
      target[name] = read(reader);
    },
  };
}

/** Message field. Several occurrences are merged. */
export function struct(name: string, message: Message): Field {
  return {
    name,
    wire: WireType.LengthDelimited,
    readInto(reader, target) {
      target[name] = readMessage(reader, message, (target[name] as JsonObject | undefined) ?? {});
    },
  };
}

/** Message field whose fields are inlined in JSON. */
export function inlined(name: string, message: Message): Field {
  return {
    name,
    wire: WireType.LengthDelimited,
    readInto(reader, target) {
      readMessage(reader, message, target);
    },
  };
}

export function list(name: string, { wire, read }: Value): Field {
  return {
    name,
    wire,
    isList: true,
    readInto(reader, target) {
      const items = target[name] as unknown[] | undefined;
      if (items) items.push(read(reader));
      else target[name] = [read(reader)];
    },
  };
}

/** Map field: a list of entries on the wire. */
export function map(name: string, key: Value, value: Value): Field {
  const entry = messageWith({ key, value });
  return {
    name,
    wire: WireType.LengthDelimited,
    readInto(reader, target) {
      // Without a prototype, so that __proto__ is an ordinary key.
      target[name] ??= Object.create(null);
      const { key = "", value = null } = readMessage(reader, entry, {}) as { key?: string; value?: unknown };
      (target[name] as JsonObject)[key] = value;
    },
  };
}

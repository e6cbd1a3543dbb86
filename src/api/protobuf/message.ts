import { type BinaryReader, WireType } from "@bufbuild/protobuf/wire";
import { DecodeError } from "../schema/decode-error.ts";
import type { JsonObject } from "../schema/json-object.ts";

/** The fields of a message, by number. */
export type Message = readonly (Field | undefined)[];

/** `readInto` reads one occurrence of the field into the object that it is part of. */
export interface Field {
  readonly name: string;
  readonly wire: WireType;
  readonly isList?: boolean;
  readInto(reader: BinaryReader, target: JsonObject): void;
}

/** Something with a form of its own on the wire. `read` gives it as JSON has it. */
export interface Value {
  readonly wire: WireType;
  read(reader: BinaryReader): unknown;
}

/** Reads a message that its length stands before. */
export function readMessage(reader: BinaryReader, message: Message, target: JsonObject): JsonObject {
  return readFields(reader, message, { end: reader.uint32() + reader.pos, target });
}

/** Skips fields that the message does not have, as newer clients send them. Throws what the reader throws too. */
export function readFields(
  reader: BinaryReader,
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

/** The numbers of a list may come as one block without tags. */
function readPacked(reader: BinaryReader, field: Field, target: JsonObject): void {
  const end = reader.uint32() + reader.pos;
  while (reader.pos < end) field.readInto(reader, target);
  assertEnd(reader, end);
}

/** The reader stays within the body, but what it read last may be longer than what that is part of. */
function assertEnd(reader: BinaryReader, end: number): void {
  if (reader.pos !== end) throw new DecodeError("unexpected EOF");
}

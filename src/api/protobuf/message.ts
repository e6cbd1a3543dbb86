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
  return readFields(reader, message, { end: readEnd(reader), target });
}

/** Fields that the message does not have are left out, as newer clients may send them. Throws any kind of error. */
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
  // No read leaves the body, but the last one may have gone on behind the end of this message.
  if (reader.pos !== end) throw new DecodeError("unexpected EOF");
  return target;
}

/** The numbers of a list may come as one block without tags. */
function readPacked(reader: BinaryReader, field: Field, target: JsonObject): void {
  const end = readEnd(reader);
  while (reader.pos < end) field.readInto(reader, target);
  if (reader.pos !== end) throw new DecodeError("unexpected EOF");
}

/** Where that ends whose length comes next. */
function readEnd(reader: BinaryReader): number {
  const length = reader.uint32();
  if (length > reader.len - reader.pos) throw new DecodeError("unexpected EOF");
  return reader.pos + length;
}

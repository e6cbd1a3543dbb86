/** An encoded message. One character is one byte: joining strings is far cheaper than joining many small buffers. */
export interface Message {
  readonly bytes: string;
}

/** What a field of a message holds: text, a flag, another message, or several of these. */
type FieldValue = string | boolean | Message | readonly (string | Message)[] | undefined;

/** Encodes a protobuf message from field numbers and values. Empty fields are left out, as proto3 does. */
export function message(...fields: readonly (readonly [number, FieldValue])[]): Message {
  let bytes = "";
  for (const [number, value] of fields) {
    if (!value) continue;
    if (value === true) bytes += varint(number * 8) + varint(1);
    else if (isMany(value)) for (const item of value) bytes += delimited(number, item);
    else bytes += delimited(number, value);
  }
  return { bytes };
}

export function toBuffer({ bytes }: Message): Buffer {
  return Buffer.from(bytes, "latin1");
}

function isMany(value: FieldValue): value is readonly (string | Message)[] {
  return Array.isArray(value);
}

function delimited(number: number, value: string | Message): string {
  const bytes = typeof value === "string" ? utf8(value) : value.bytes;
  return varint(number * 8 + 2) + varint(bytes.length) + bytes;
}

function utf8(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: all of ASCII is its own encoding
  return /^[\x00-\x7f]*$/.test(text) ? text : Buffer.from(text).toString("latin1");
}

function varint(value: number): string {
  if (value < 128) return String.fromCharCode(value);
  return String.fromCharCode((value % 128) + 128) + varint(Math.floor(value / 128));
}

/**
 * Subset of DER that X.509 needs. Certificates are parsed by node:crypto; only the issuer's name and key identifier, which
 * node:crypto does not expose as bytes, are parsed here.
 */
const tag = {
  boolean: 0x01,
  integer: 0x02,
  bitString: 0x03,
  octetString: 0x04,
  objectId: 0x06,
  utf8String: 0x0c,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
} as const;

function encode(tagByte: number, ...content: readonly Uint8Array[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([Buffer.from([tagByte, ...encodeLength(length)]), ...content]);
}

function encodeLength(length: number): number[] {
  if (length < 0x80) return [length];
  if (length < 0x100) return [0x81, length];
  if (length < 0x10000) return [0x82, length >> 8, length & 0xff];
  return [0x83, length >> 16, (length >> 8) & 0xff, length & 0xff];
}

export const sequence = (...parts: readonly Uint8Array[]) => encode(tag.sequence, ...parts);
export const set = (...parts: readonly Uint8Array[]) => encode(tag.set, ...parts);
export const octetString = (content: Uint8Array) => encode(tag.octetString, content);
export const utf8String = (text: string) => encode(tag.utf8String, Buffer.from(text));
export const isTrue = () => encode(tag.boolean, Buffer.from([0xff]));
export const integer = (bytes: Uint8Array) => encode(tag.integer, bytes);

export function bitString(content: Uint8Array, unusedBits = 0): Buffer {
  return encode(tag.bitString, Buffer.from([unusedBits]), content);
}

/** Context-specific tag: `[0]`, `[1]`, … */
export function contextTag(number: number, content: Uint8Array, form: "primitive" | "constructed"): Buffer {
  return encode((form === "constructed" ? 0xa0 : 0x80) | number, content);
}

export function objectId(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return encode(tag.objectId, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(value: number): number[] {
  const digits = [value & 0x7f];
  for (let left = value >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}

/** UTCTime until 2049, GeneralizedTime afterwards, as RFC 5280 requires. */
export function time(ms: number): Buffer {
  const digits = `${new Date(ms).toISOString().replace(/[-:T]/g, "").slice(0, 14)}Z`;
  return digits < "2050"
    ? encode(tag.utcTime, Buffer.from(digits.slice(2)))
    : encode(tag.generalizedTime, Buffer.from(digits));
}

export interface Element {
  readonly tag: number;
  /** Whole element including tag and length. */
  readonly raw: Buffer;
  readonly content: Buffer;
}

export function readElements(der: Buffer): Element[] {
  const elements: Element[] = [];
  for (let at = 0; at < der.length; ) {
    const lengthByte = der.readUInt8(at + 1);
    const lengthBytes = lengthByte & 0x80 ? lengthByte & 0x7f : 0;
    const length = lengthBytes ? der.readUIntBE(at + 2, lengthBytes) : lengthByte;
    const start = at + 2 + lengthBytes;
    const end = start + length;
    elements.push({ tag: der.readUInt8(at), raw: der.subarray(at, end), content: der.subarray(start, end) });
    at = end;
  }
  return elements;
}

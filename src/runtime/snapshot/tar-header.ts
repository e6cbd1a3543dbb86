import { ImageError } from "../image/image-error.ts";

export type TarEntryType = "file" | "directory" | "symlink" | "hardlink" | "fifo" | "char" | "block";

/** One entry of an archive. Names hold one character per byte (latin1): file names are bytes, not text. */
export interface TarEntry {
  readonly name: string;
  readonly type: TarEntryType;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Of the data in the archive. */
  readonly size: number;
  readonly mtimeMs: number;
  readonly linkName: string;
  readonly deviceMajor: number;
  readonly deviceMinor: number;
  readonly xattrs: ReadonlyMap<string, Buffer>;
}

/** A 512-byte block as it is; what extension headers say is applied by the parser. */
export interface RawHeader extends Omit<TarEntry, "type" | "xattrs"> {
  readonly typeFlag: string;
}

export const blockSize = 512;

export function invalidArchive(why: string): ImageError {
  return new ImageError("invalidArchive", `the archive ${why}`);
}

/** A name for a message: one character per byte does not read well where the bytes are text. */
export function shown(name: string): string {
  return JSON.stringify(Buffer.from(name, "latin1").toString());
}

export function parseHeader(block: Buffer): RawHeader {
  if (!hasRightChecksum(block)) throw invalidArchive("has a header with a wrong checksum; it is damaged");
  const isUstar = block.toString("latin1", 257, 263) === "ustar\0";
  const prefix = isUstar ? text(block, 345, 155) : "";
  const name = text(block, 0, 100);
  return {
    name: prefix === "" ? name : `${prefix}/${name}`,
    typeFlag: String.fromCharCode(block[156] ?? 0),
    mode: number(block, 100, 8),
    uid: number(block, 108, 8),
    gid: number(block, 116, 8),
    size: number(block, 124, 12),
    mtimeMs: number(block, 136, 12) * 1_000,
    linkName: text(block, 157, 100),
    deviceMajor: number(block, 329, 8),
    deviceMinor: number(block, 337, 8),
  };
}

function text(block: Buffer, start: number, length: number): string {
  const end = block.indexOf(0, start);
  return block.toString("latin1", start, end === -1 || end > start + length ? start + length : end);
}

/** Octal digits, or base 256 when the first bit is set. */
function number(block: Buffer, start: number, length: number): number {
  const first = block[start] ?? 0;
  if ((first & 0x80) === 0) {
    const digits = text(block, start, length).trim();
    if (digits === "") return 0;
    if (!/^[0-7]+$/.test(digits)) throw invalidArchive(`has a header with "${digits}" for a number`);
    return Number.parseInt(digits, 8);
  }
  // Negative numbers begin with 0xff: only times before 1970 can be, and 0 does for those.
  if (first === 0xff) return 0;
  let value = first & 0x7f;
  for (let i = start + 1; i < start + length; i++) value = value * 256 + (block[i] ?? 0);
  if (!Number.isSafeInteger(value)) throw invalidArchive("has a header with a number out of range");
  return value;
}

function hasRightChecksum(block: Buffer): boolean {
  let unsigned = 0;
  let signed = 0;
  for (let i = 0; i < blockSize; i++) {
    // The checksum's own field counts as spaces.
    const byte = i >= 148 && i < 156 ? 0x20 : (block[i] ?? 0);
    unsigned += byte;
    signed += byte < 128 ? byte : byte - 256;
  }
  const digits = text(block, 148, 8).trim();
  if (!/^[0-7]+$/.test(digits)) return false;
  const told = Number.parseInt(digits, 8);
  return told === unsigned || told === signed;
}

import { ImageError } from "../errors/image-error.ts";

export type TarEntryType = "file" | "directory" | "symlink" | "hardlink" | "fifo" | "char" | "block";

/** Entry of an archive. Names hold one character per byte (latin1), because file names are bytes. */
export interface TarEntry {
  readonly name: string;
  readonly type: TarEntryType;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Size of the data in the archive. */
  readonly size: number;
  readonly mtimeMs: number;
  readonly linkName: string;
  readonly deviceMajor: number;
  readonly deviceMinor: number;
  readonly xattrs: ReadonlyMap<string, Buffer>;
}

/** Header block as it is in the archive. The parser applies extension headers. */
export interface RawHeader extends Omit<TarEntry, "type" | "xattrs"> {
  readonly typeFlag: string;
}

export const blockSize = 512;

export function invalidArchive(why: string): ImageError {
  return new ImageError("invalidArchive", `the archive ${why}`);
}

/** Formats a name for a message, decoded as UTF-8. */
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
    size: sizeOf(block),
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

/** Size of the entry's data. Go's reader rejects negative sizes too. */
function sizeOf(block: Buffer): number {
  if (((block[124] ?? 0) & 0xc0) === 0xc0) throw invalidArchive("has an entry of negative size");
  return number(block, 124, 12);
}

/** Parses octal digits, or base 256 when the first bit is set. */
function number(block: Buffer, start: number, length: number): number {
  const first = block[start] ?? 0;
  if ((first & 0x80) === 0) {
    const digits = text(block, start, length).trim();
    if (digits === "") return 0;
    if (!/^[0-7]+$/.test(digits)) throw invalidArchive(`has a header with "${digits}" for a number`);
    return Number.parseInt(digits, 8);
  }
  // Negative numbers begin with 0xff; 0 replaces them. Times before 1970 are negative.
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
    // The checksum field itself counts as spaces.
    const byte = i >= 148 && i < 156 ? 0x20 : (block[i] ?? 0);
    unsigned += byte;
    signed += byte < 128 ? byte : byte - 256;
  }
  const digits = text(block, 148, 8).trim();
  if (!/^[0-7]+$/.test(digits)) return false;
  const expected = Number.parseInt(digits, 8);
  return expected === unsigned || expected === signed;
}

/** Records of an extended header, which describe the entry that follows it. */
export interface PaxRecords {
  readonly values: Map<string, string>;
  readonly xattrs: Map<string, Buffer>;
}

const xattrPrefix = "SCHILY.xattr.";

/** Parses records of the form `LENGTH KEY=VALUE\n`. */
export function parsePaxRecords(data: Buffer): PaxRecords {
  const records: PaxRecords = { values: new Map(), xattrs: new Map() };
  let at = 0;
  while (at < data.length) {
    const space = data.indexOf(0x20, at);
    const digits = space === -1 ? "" : data.toString("latin1", at, space);
    const end = at + Number(digits);
    if (!/^[1-9][0-9]{0,8}$/.test(digits) || end > data.length || data[end - 1] !== 0x0a) {
      throw invalidArchive("has a damaged extended header");
    }
    const equals = data.indexOf(0x3d, space);
    if (equals === -1 || equals >= end) throw invalidArchive("has an extended header without a value");
    const key = data.toString("latin1", space + 1, equals);
    const value = data.subarray(equals + 1, end - 1);
    if (key.startsWith(xattrPrefix)) {
      records.xattrs.set(key.slice(xattrPrefix.length), Buffer.from(value));
    } else {
      if ((key === "path" || key === "linkpath") && value.includes(0)) {
        throw invalidArchive("has a name with a NUL byte");
      }
      records.values.set(key, value.toString("latin1"));
    }
    at = end;
  }
  return records;
}

/** Returns the header with values replaced by those of the records. */
export function applyPaxRecords(header: RawHeader, { values }: PaxRecords): RawHeader {
  if (values.size === 0) return header;
  if ([...values.keys()].some((key) => key.startsWith("GNU.sparse."))) {
    throw sparseFile(values.get("GNU.sparse.name") ?? values.get("path") ?? header.name);
  }
  const time = values.get("mtime");
  return {
    ...header,
    // An empty value removes the record.
    name: values.get("path") || header.name,
    linkName: values.get("linkpath") || header.linkName,
    size: whole(values.get("size")) ?? header.size,
    uid: whole(values.get("uid")) ?? header.uid,
    gid: whole(values.get("gid")) ?? header.gid,
    mtimeMs: time ? seconds(time) * 1_000 : header.mtimeMs,
  };
}

/** Error for sparse files, which image tools do not write. */
export function sparseFile(name: string) {
  return invalidArchive(`has a sparse file (${shown(name)}); make the layer without tar's --sparse`);
}

function whole(value: string | undefined): number | undefined {
  if (!value) return undefined;
  const number = Number(value);
  if (!/^[0-9]+$/.test(value) || !Number.isSafeInteger(number)) {
    throw invalidArchive(`has an extended header with "${value}" for a number`);
  }
  return number;
}

function seconds(value: string): number {
  const number = Number(value);
  if (!Number.isFinite(number)) throw invalidArchive(`has an extended header with "${value}" for a time`);
  return Math.max(0, number);
}

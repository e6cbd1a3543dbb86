import { invalidArchive, type RawHeader, shown } from "./tar-header.ts";

/** What an extended header says about the entry behind it. */
export interface PaxRecords {
  readonly values: Map<string, string>;
  readonly xattrs: Map<string, Buffer>;
}

const xattrPrefix = "SCHILY.xattr.";

/** `LENGTH KEY=VALUE\n` until the end. */
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

/** The header with what the records say instead. */
export function applyPaxRecords(header: RawHeader, { values }: PaxRecords): RawHeader {
  if (values.size === 0) return header;
  if ([...values.keys()].some((key) => key.startsWith("GNU.sparse."))) {
    throw sparseFile(values.get("GNU.sparse.name") ?? values.get("path") ?? header.name);
  }
  const time = values.get("mtime");
  return {
    ...header,
    // An empty value takes the record back.
    name: values.get("path") || header.name,
    linkName: values.get("linkpath") || header.linkName,
    size: whole(values.get("size")) ?? header.size,
    uid: whole(values.get("uid")) ?? header.uid,
    gid: whole(values.get("gid")) ?? header.gid,
    mtimeMs: time ? seconds(time) * 1_000 : header.mtimeMs,
  };
}

/** No tool that makes images writes them; whoever made the layer with tar can do so without. */
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

import { blockSize, type TarEntry } from "./tar-header.ts";

const typeFlags = {
  file: "0",
  hardlink: "1",
  symlink: "2",
  char: "3",
  block: "4",
  directory: "5",
  fifo: "6",
} as const;

export const emptyArchiveEnd = Buffer.alloc(2 * blockSize);

/** The blocks before an entry's data: a ustar header, behind a pax header where that cannot say it all. */
export function formatHeader(entry: Partial<TarEntry> & Pick<TarEntry, "name" | "type">): Buffer {
  const records: Buffer[] = [];
  const add = (key: string, value: Buffer | string) => records.push(formatRecord(key, value));
  if (entry.name.length > 100) add("path", Buffer.from(entry.name, "latin1"));
  if ((entry.linkName ?? "").length > 100) add("linkpath", Buffer.from(entry.linkName ?? "", "latin1"));
  for (const [name, value] of entry.xattrs ?? []) add(`SCHILY.xattr.${name}`, value);
  if ((entry.size ?? 0) > 0o77777777777) add("size", String(entry.size));
  if ((entry.uid ?? 0) > 0o7777777) add("uid", String(entry.uid));
  if ((entry.gid ?? 0) > 0o7777777) add("gid", String(entry.gid));
  const own = formatBlock(entry, typeFlags[entry.type]);
  if (records.length === 0) return own;
  const data = Buffer.concat(records);
  return Buffer.concat([formatBlock({ name: "pax", size: data.length, mode: 0o644 }, "x"), pad(data), own]);
}

/** Data with what fills its last block. */
export function pad(data: Buffer): Buffer {
  return Buffer.concat([data, paddingOf(data.length)]);
}

export function paddingOf(size: number): Buffer {
  return Buffer.alloc((blockSize - (size % blockSize)) % blockSize);
}

export function formatBlock(entry: Partial<TarEntry>, typeFlag: string): Buffer {
  const block = Buffer.alloc(blockSize);
  const octal = (value: number, at: number, length: number) =>
    block.write(
      Math.floor(value)
        .toString(8)
        .padStart(length - 1, "0")
        .slice(-(length - 1)),
      at,
      "latin1",
    );
  block.write((entry.name ?? "").slice(0, 100), 0, "latin1");
  octal((entry.mode ?? 0o644) & 0o7777, 100, 8);
  octal(entry.uid ?? 0, 108, 8);
  octal(entry.gid ?? 0, 116, 8);
  octal(entry.size ?? 0, 124, 12);
  // Times before 1970 have no octal digits.
  octal(Math.max(0, entry.mtimeMs ?? 0) / 1_000, 136, 12);
  block.write("        ", 148, "latin1");
  block.write(typeFlag, 156, "latin1");
  block.write((entry.linkName ?? "").slice(0, 100), 157, "latin1");
  block.write("ustar\x0000", 257, "latin1");
  octal(entry.deviceMajor ?? 0, 329, 8);
  octal(entry.deviceMinor ?? 0, 337, 8);
  let sum = 0;
  for (const byte of block) sum += byte;
  block.write(`${sum.toString(8).padStart(6, "0")}\0 `, 148, "latin1");
  return block;
}

/** The record's length counts its own digits. */
function formatRecord(key: string, value: Buffer | string): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from("\n")]);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
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

/** Blocks before an entry's data: a ustar header, preceded by a pax header where ustar's fields are too small. */
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

/** Data followed by the padding of its last block. */
export function pad(data: Buffer): Buffer {
  return Buffer.concat([data, paddingOf(data.length)]);
}

function paddingOf(size: number): Buffer {
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

/** Formats a pax record, whose length includes its own digits. */
function formatRecord(key: string, value: Buffer | string): Buffer {
  const rest = Buffer.concat([Buffer.from(` ${key}=`), Buffer.from(value), Buffer.from("\n")]);
  let length = rest.length + 1;
  while (String(length).length + rest.length !== length) length = String(length).length + rest.length;
  return Buffer.concat([Buffer.from(String(length)), rest]);
}

/** Packs a directory into an archive, sorted by name, so that the same directory gives the same bytes. */
export async function* packDirectory(directory: string): AsyncGenerator<Buffer> {
  yield* packBelow(Buffer.from(`${directory}/`), "");
  yield emptyArchiveEnd;
}

/** Packs the entries below a path. Paths have one character per byte, as names in archives do. */
async function* packBelow(directory: Buffer, below: string): AsyncGenerator<Buffer> {
  const at = (path: string) => Buffer.concat([directory, Buffer.from(path, "latin1")]);
  const names = await readdir(at(below), "latin1");
  for (const base of names.sort()) {
    const name = below === "" ? base : `${below}/${base}`;
    const found = await lstat(at(name));
    const { uid, gid, mtimeMs, size } = found;
    const common = { name, mode: found.mode & 0o7777, uid, gid, mtimeMs };
    if (found.isDirectory()) {
      yield formatHeader({ ...common, name: `${name}/`, type: "directory" });
      yield* packBelow(directory, name);
    } else if (found.isSymbolicLink()) {
      yield formatHeader({ ...common, type: "symlink", linkName: await readlink(at(name), "latin1") });
    } else if (found.isFile()) {
      yield formatHeader({ ...common, type: "file", size });
      let sent = 0;
      for await (const chunk of createReadStream(at(name))) {
        sent += chunk.length;
        yield chunk;
      }
      if (sent !== size) throw new Error(`${at(name)} changed while it was packed`);
      yield paddingOf(size);
    }
  }
}

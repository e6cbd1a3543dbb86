import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { emptyArchiveEnd, formatHeader, paddingOf } from "./tar-writer.ts";

/** A directory as an archive, in the order of names: the same directory gives the same bytes. */
export async function* packDirectory(directory: string): AsyncGenerator<Buffer> {
  yield* packBelow(Buffer.from(`${directory}/`), "");
  yield emptyArchiveEnd;
}

/** Paths have one character per byte, as archives have names. */
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

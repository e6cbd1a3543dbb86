import { createReadStream } from "node:fs";
import { lstat, readdir, readlink } from "node:fs/promises";
import { join } from "node:path";
import { emptyArchiveEnd, formatHeader, paddingOf } from "./tar-writer.ts";

/** A directory as an archive, in the order of names: the same directory gives the same bytes. */
export async function* packDirectory(directory: string): AsyncGenerator<Buffer> {
  yield* packBelow(directory, "");
  yield emptyArchiveEnd;
}

async function* packBelow(directory: string, below: string): AsyncGenerator<Buffer> {
  const names = await readdir(join(directory, below));
  for (const name of names.sort()) {
    const path = below === "" ? name : `${below}/${name}`;
    const file = join(directory, path);
    const { mode, uid, gid, mtimeMs, size, ...found } = await lstat(file).then((stats) => ({
      ...stats,
      isDirectory: stats.isDirectory(),
      isFile: stats.isFile(),
      isLink: stats.isSymbolicLink(),
    }));
    // One character per byte, as archives have names.
    const common = { name: Buffer.from(path).toString("latin1"), mode: mode & 0o7777, uid, gid, mtimeMs };
    if (found.isDirectory) {
      yield formatHeader({ ...common, name: `${common.name}/`, type: "directory" });
      yield* packBelow(directory, path);
    } else if (found.isLink) {
      const linkName = Buffer.from(await readlink(file)).toString("latin1");
      yield formatHeader({ ...common, type: "symlink", linkName });
    } else if (found.isFile) {
      yield formatHeader({ ...common, type: "file", size });
      let sent = 0;
      for await (const chunk of createReadStream(file)) {
        sent += chunk.length;
        yield chunk;
      }
      if (sent !== size) throw new Error(`${file} changed while it was packed`);
      yield paddingOf(size);
    }
  }
}

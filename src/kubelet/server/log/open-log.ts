import { constants } from "node:fs";
import { type FileHandle, open, readlink } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import { HttpError } from "../http-error.ts";

export interface LogPlace {
  /** Where all pods' logs are, as the runtime was told. */
  readonly root: string;
  /** The same without links, found out before any pod could change it. */
  readonly realRoot: string;
  /** The pod's own folder in it. */
  readonly directory: string;
}

/**
 * Opens a container's log. A pod that has the node's log folder mounted could put a link there to any file of the
 * node, and read it as its log: so what was opened must be a file of its own, in the pod's folder, not reached by links.
 */
export async function openLog(path: string, place: LogPlace): Promise<FileHandle> {
  const folder = join(place.realRoot, place.directory);
  const inside = relative(join(place.root, place.directory), resolve(path));
  if (!isBelow(inside)) throw refused(path);
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(join(folder, inside), flags).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === "ENOENT" ? "no such file or directory" : error.message;
    throw new HttpError(400, `failed to open log file ${JSON.stringify(path)}: ${reason}`);
  });
  try {
    const stat = await file.stat();
    const real = (await readlink(`/proc/self/fd/${file.fd}`)).replace(/ \(deleted\)$/, "");
    if (!stat.isFile() || stat.nlink > 1 || !isBelow(relative(folder, real))) throw refused(path);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function isBelow(path: string): boolean {
  return path !== "" && path !== ".." && !path.startsWith(`..${sep}`) && !path.startsWith(sep);
}

function refused(path: string): HttpError {
  return new HttpError(
    400,
    `failed to open log file ${JSON.stringify(path)}: not a file in the pod's log directory`,
  );
}

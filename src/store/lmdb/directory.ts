import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { isClaimFile } from "./claim-directory.ts";
import { openLmdbEnvironment } from "./environment.ts";
import { formatMark } from "./format.ts";
import { corruptFile, foreignFile } from "./lmdb-error.ts";
import { encodeMark } from "./row.ts";
import { lockFileOf } from "./tables.ts";

const dataName = "store.mdb";
/** A new store has this name until it is complete, so that a file with the real name always is. */
const unfinishedName = "unfinished.mdb";
/** What may be in a directory that has no store: the mount point of a disk has the last. */
const ignored = new Set([unfinishedName, lockFileOf(unfinishedName), "lost+found"]);

export function dataFileIn(directory: string): string {
  return join(directory, dataName);
}

/** What to do with a directory in which these names are. Throws where it would be wrong to begin a new store. */
export function decideDirectory(directory: string, names: readonly string[]): "create" | "open" {
  if (names.includes(dataName)) return "open";
  if (names.includes(lockFileOf(dataName))) {
    throw corruptFile(dataFileIn(directory), "it is missing, though its lock file is there");
  }
  const strangers = names.filter((name) => !ignored.has(name) && !isClaimFile(name));
  if (strangers.length === 0) return "create";
  const some = [...strangers.sort().slice(0, 3), ...(strangers.length > 3 ? ["…"] : [])].join(", ");
  throw foreignFile(directory, `has other files (${some}) and no Kindling store`);
}

/** Also makes sure that the directory itself outlives a power failure. */
export function ensureDirectory(directory: string): void {
  const firstMade = mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (firstMade === undefined) return;
  for (let made = directory; made.length >= firstMade.length; made = dirname(made))
    syncDirectory(dirname(made));
}

export async function createDataFile(directory: string): Promise<void> {
  const unfinished = join(directory, unfinishedName);
  const remove = () => {
    rmSync(unfinished, { force: true });
    rmSync(lockFileOf(unfinished), { force: true });
  };
  remove();
  const environment = await openLmdbEnvironment(unfinished);
  try {
    const row = encodeMark(formatMark);
    await environment.write([{ table: "meta", key: formatMark.key, row }]);
  } finally {
    await environment.close();
  }
  renameSync(unfinished, dataFileIn(directory));
  remove();
  syncDirectory(directory);
}

function syncDirectory(directory: string): void {
  const handle = openSync(directory, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}

import { closeSync, fsyncSync, mkdirSync, openSync, readdirSync, renameSync, rmSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { createLocalStore } from "../local/local-store.ts";
import type { Store } from "../store.ts";
import { claimDirectory, isClaimFile } from "./claim-directory.ts";
import { openLmdbEnvironment } from "./environment.ts";
import { formatMark } from "./format.ts";
import { createLmdbEngine } from "./lmdb-engine.ts";
import { corruptFile, openFailed, unrecognizedFile } from "./lmdb-error.ts";
import { encodeMark } from "./row.ts";
import { lockFileOf } from "./tables.ts";
import { checkLmdbFile } from "./verify/check-file.ts";

export interface LmdbStoreOptions {
  /** Directory of the store, created if it is missing. Must not contain other files. */
  directory: string;
}

/** Opens a store in a local directory, for one process at a time. Confirmed writes survive a crash. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const directory = resolve(options.directory);
  const file = dataFileIn(directory);
  try {
    ensureDirectory(directory);
    // Checked before the claim is created, so that a directory of another program is not modified.
    decideDirectory(directory, readdirSync(directory));
    const claim = await claimDirectory(directory);
    try {
      if (decideDirectory(directory, readdirSync(directory)) === "create") await createDataFile(directory);
      const bounds = checkLmdbFile(file);
      const engine = createLmdbEngine(file, await openLmdbEnvironment(file), bounds);
      return createLocalStore({
        ...engine,
        async close() {
          await engine.close();
          await claim.release();
        },
      });
    } catch (error) {
      await claim.release();
      throw error;
    }
  } catch (error) {
    throw openFailed(file, error);
  }
}

const dataName = "store.mdb";
/** Name of a new store until it is complete, so that a file with the final name is always complete. */
const unfinishedName = "unfinished.mdb";
/** Files that may exist in a directory without a store. The mount point of a disk contains the last one. */
const ignored = new Set([unfinishedName, lockFileOf(unfinishedName), "lost+found"]);

export function dataFileIn(directory: string): string {
  return join(directory, dataName);
}

/** Decides what to do with a directory that contains these names. Throws when a new store must not be created in it. */
export function decideDirectory(directory: string, names: readonly string[]): "create" | "open" {
  if (names.includes(dataName)) return "open";
  if (names.includes(lockFileOf(dataName))) {
    throw corruptFile(dataFileIn(directory), "it is missing, but its lock file exists");
  }
  const otherFiles = names.filter((name) => !ignored.has(name) && !isClaimFile(name));
  if (otherFiles.length === 0) return "create";
  const some = [...otherFiles.sort().slice(0, 3), ...(otherFiles.length > 3 ? ["…"] : [])].join(", ");
  throw unrecognizedFile(directory, `contains other files (${some}) and no Kindling store`);
}

/** Creates the directory and syncs its parents, so that it survives a power failure. */
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

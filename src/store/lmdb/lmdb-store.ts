import { readdirSync } from "node:fs";
import { resolve } from "node:path";
import { createLocalStore } from "../local/local-store.ts";
import type { Store } from "../store.ts";
import { checkLmdbFile } from "./check-file.ts";
import { claimDirectory } from "./claim-directory.ts";
import { createDataFile, dataFileIn, decideDirectory, ensureDirectory } from "./directory.ts";
import { openLmdbEnvironment } from "./environment.ts";
import { createLmdbEngine } from "./lmdb-engine.ts";
import { openFailed } from "./lmdb-error.ts";

export interface LmdbStoreOptions {
  /** A directory for the store alone; it is made where it is missing. */
  directory: string;
}

/** A store in a directory of this machine, for one process at a time. What it answered survives any crash. */
export async function openLmdbStore(options: LmdbStoreOptions): Promise<Store> {
  const directory = resolve(options.directory);
  const file = dataFileIn(directory);
  try {
    ensureDirectory(directory);
    // Before the claim: in a directory that is not ours nothing is left, not even for a moment.
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

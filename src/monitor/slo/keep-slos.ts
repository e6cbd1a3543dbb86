import { readFile, rename, writeFile } from "node:fs/promises";
import type { Clock } from "../../lib/clock.ts";
import type { Logger } from "../../lib/logger.ts";
import { isSavedSlos } from "./saved-slos.ts";
import type { SavedSlos, SloTracker } from "./slo-tracker.ts";

const reviewMs = 5_000;
const saveMs = 60_000;

/** What was counted before, by an earlier monitor; nothing where there was none or its file is damaged. */
export async function readSavedSlos(file: string, logger: Logger): Promise<SavedSlos> {
  try {
    const saved: unknown = JSON.parse(await readFile(file, "utf8"));
    if (isSavedSlos(saved)) return saved;
    logger.warn("the counts of objectives cannot be read and begin anew", { file });
  } catch (error) {
    const isFirst = error instanceof Error && "code" in error && error.code === "ENOENT";
    if (!isFirst) logger.warn("the counts of objectives cannot be read and begin anew", { file, error });
  }
  return {};
}

export interface KeepSlosDeps {
  readonly tracker: SloTracker;
  /** Where the counts are kept over a restart. */
  readonly file: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Looks for starts that are overdue and keeps the counts, until the signal aborts; then once more. */
export async function keepSlos(
  { tracker, file, clock, logger }: KeepSlosDeps,
  signal: AbortSignal,
): Promise<void> {
  async function save(): Promise<void> {
    try {
      // In one step: who starts next reads all of it, or all of what was before.
      await writeFile(`${file}.new`, JSON.stringify(tracker.save()), { mode: 0o600 });
      await rename(`${file}.new`, file);
    } catch (error) {
      // A full disk must not end the monitor; the counts go on in memory.
      logger.warn("the counts of objectives cannot be saved", { file, error });
    }
  }

  let savedAt = clock.now();
  while (!signal.aborted) {
    tracker.review();
    if (clock.now() - savedAt >= saveMs) {
      savedAt = clock.now();
      await save();
    }
    await clock.sleep(reviewMs, signal).catch(() => {});
  }
  await save();
}

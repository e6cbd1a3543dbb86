import type { FileHandle } from "node:fs/promises";
import type { Clock } from "../../../lib/clock.ts";
import type { DirectoryChanges } from "./directory-changes.ts";
import { createLogCursor } from "./log-cursor.ts";
import type { LogOptions } from "./log-options.ts";
import { createLogRenderer } from "./log-renderer.ts";
import { findTailStart } from "./tail-start.ts";

/** A container's log, as it is and as it changes. */
interface LogSource {
  /** The file that has the log's name now: after a rotation another one. Rejects while there is none. */
  open(): Promise<FileHandle>;
  /** Asked now and then while there is nothing more to read. */
  isRunning(): Promise<boolean>;
  watch(): DirectoryChanges;
}

export interface ReadLogOptions {
  readonly source: LogSource;
  /** The first file; it is closed here. */
  readonly file: FileHandle;
  readonly options: LogOptions;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const checkEveryMs = 1_000;

/** What is asked for of a log, as it comes: whatever is written once this has resolved is part of what follows. */
export async function readLog(options: ReadLogOptions): Promise<AsyncGenerator<Buffer>> {
  return readFrom(await tailStart(options.file, options.options.tailLines), options);
}

/** Reads on only when its reader does. */
async function* readFrom(
  position: number,
  { source, file, options, clock, signal }: ReadLogOptions,
): AsyncGenerator<Buffer> {
  const { follow, tailLines } = options;
  const renderer = createLogRenderer({ ...options, mostLines: follow ? undefined : tailLines });
  const cursor = createLogCursor({ file, position, open: source.open, onNextFile: renderer.restart });
  let changes: DirectoryChanges | undefined;
  let ended = false;
  let checkedAt = Number.NEGATIVE_INFINITY;
  try {
    while (!renderer.done()) {
      const bytes = await cursor.read();
      if (bytes.length > 0) {
        const text = renderer.push(bytes);
        if (text.length > 0) yield text;
        continue;
      }
      if (!follow) {
        yield renderer.end();
        return;
      }
      // Before the first look for a rotation: one between the two would otherwise not be seen.
      changes ??= source.watch();
      if (await cursor.findNext()) continue;
      if (ended) return;
      if (clock.now() - checkedAt >= checkEveryMs) {
        checkedAt = clock.now();
        ended = !(await source.isRunning());
      }
      // What an ended one wrote last may have come since it was read: it is read once more.
      if (!ended) await changes.next({ atMostMs: checkEveryMs, signal });
    }
  } finally {
    changes?.close();
    await cursor.close();
  }
}

async function tailStart(file: FileHandle, lines: number | undefined): Promise<number> {
  if (lines === undefined) return 0;
  try {
    const { size } = await file.stat();
    return await findTailStart(file, size, lines);
  } catch (error) {
    await file.close();
    throw error;
  }
}

import type { FileHandle } from "node:fs/promises";
import type { Clock } from "../../../lib/clock.ts";
import type { DirectoryChanges } from "./directory-changes.ts";
import type { LogOptions } from "./log-options.ts";
import { createLogRenderer } from "./log-renderer.ts";
import { findTailStart } from "./tail-start.ts";

/** A log file, as it is and as it changes. */
export interface LogSource {
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

const chunkBytes = 64 * 1_024;
const checkEveryMs = 1_000;

/** What is asked for of a log, as it comes. Reads on only when its reader does. */
export async function* readLog(options: ReadLogOptions): AsyncGenerator<Buffer> {
  const { source, clock, signal } = options;
  const { follow, tailLines } = options.options;
  const renderer = createLogRenderer({ ...options.options, mostLines: follow ? undefined : tailLines });
  const buffer = Buffer.alloc(chunkBytes);
  let file = options.file;
  let changes: DirectoryChanges | undefined;
  try {
    const { size } = await file.stat();
    let position = tailLines === undefined ? 0 : await findTailStart(file, size, tailLines);
    let state: "running" | "ended" = "running";
    let checkedAt = Number.NEGATIVE_INFINITY;
    /** The log goes on in this one, as soon as nothing more comes of the current. */
    let next: FileHandle | undefined;
    while (!renderer.done() && !signal.aborted) {
      const { bytesRead } = await file.read(buffer, 0, chunkBytes, position);
      position += bytesRead;
      const text = bytesRead > 0 ? renderer.push(buffer.subarray(0, bytesRead)) : undefined;
      if (text) {
        if (text.length > 0) yield text;
        continue;
      }
      if (next) {
        await file.close();
        [file, next, position] = [next, undefined, 0];
        renderer.restart();
        continue;
      }
      if (!follow) {
        yield renderer.end();
        return;
      }
      // Before the first look for a rotation: one between the two would otherwise not be seen.
      changes ??= source.watch();
      next = await openRotated(source, file);
      if (next) continue;
      if (state === "ended") return;
      if (clock.now() - checkedAt >= checkEveryMs) {
        checkedAt = clock.now();
        if (!(await source.isRunning())) {
          // What it wrote last may have come since the last read.
          state = "ended";
          continue;
        }
      }
      await changes.next({ atMostMs: checkEveryMs, signal });
    }
  } finally {
    changes?.close();
    await file.close();
  }
}

/** The file that took the place of the current one, if one did. */
async function openRotated(source: LogSource, current: FileHandle): Promise<FileHandle | undefined> {
  // In the middle of a rotation there is none: it comes.
  const found = await source.open().catch(() => undefined);
  if (!found) return undefined;
  const [before, now] = await Promise.all([current.stat(), found.stat()]);
  if (before.ino !== now.ino || before.dev !== now.dev) return found;
  await found.close();
  return undefined;
}

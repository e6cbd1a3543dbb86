import { constants } from "node:fs";
import { type FileHandle, open, readlink } from "node:fs/promises";
import { join, relative, resolve, sep } from "node:path";
import type { Clock } from "../../../lib/clock.ts";
import { HttpError } from "../../../lib/http/http-exchange.ts";
import type { DirectoryChanges } from "./directory-changes.ts";
import { createLogRenderer, type LogOptions } from "./log-renderer.ts";

/** Source of a container's log. */
interface LogSource {
  /** Opens the current log file, which changes with each rotation. Rejects while there is none. */
  open(): Promise<FileHandle>;
  /** Called periodically while there is nothing to read. */
  isRunning(): Promise<boolean>;
  watch(): DirectoryChanges;
}

export interface ReadLogOptions {
  readonly source: LogSource;
  /** Current log file. `readLog` closes it. */
  readonly file: FileHandle;
  readonly options: LogOptions;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const checkIntervalMs = 1_000;

/** Reads a log. Everything that is written after this resolves is part of the result when following. */
export async function readLog(options: ReadLogOptions): Promise<AsyncGenerator<Buffer>> {
  return readFrom(await tailStart(options.file, options.options.tailLines), options);
}

async function* readFrom(
  position: number,
  { source, file, options, clock, signal }: ReadLogOptions,
): AsyncGenerator<Buffer> {
  const { follow, tailLines } = options;
  const renderer = createLogRenderer({ ...options, maxLines: follow ? undefined : tailLines });
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
      // Watches before the first check for a rotation, so that none is missed in between.
      changes ??= source.watch();
      if (await cursor.findNext()) continue;
      if (ended) return;
      if (clock.now() - checkedAt >= checkIntervalMs) {
        checkedAt = clock.now();
        ended = !(await source.isRunning());
      }
      // An exited container may have written since the last read, so one more read follows.
      if (!ended) await changes.next({ timeoutMs: checkIntervalMs, signal });
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

export interface LogDirectory {
  /** Directory of all pods' logs, as configured in the runtime. */
  readonly root: string;
  /** `root` with symbolic links resolved when the kubelet started, before a pod could change them. */
  readonly realRoot: string;
  /** Name of the pod's directory below `root`. */
  readonly directory: string;
}

/**
 * Opens a container's log. A pod that mounts the node's log directory could place a link to any file of the node there
 * and read it as its log. The opened file must therefore be a regular file with one link in the pod's directory, and no
 * symbolic link may lead to it.
 */
export async function openLog(path: string, place: LogDirectory): Promise<FileHandle> {
  const podDirectory = join(place.realRoot, place.directory);
  const inside = relative(join(place.root, place.directory), resolve(path));
  if (!isBelow(inside)) throw outsideError(path);
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const file = await open(join(podDirectory, inside), flags).catch((error: NodeJS.ErrnoException) => {
    const reason = error.code === "ENOENT" ? "no such file or directory" : error.message;
    throw new HttpError(400, `failed to open log file ${JSON.stringify(path)}: ${reason}`);
  });
  try {
    const stat = await file.stat();
    const real = (await readlink(`/proc/self/fd/${file.fd}`)).replace(/ \(deleted\)$/, "");
    if (!stat.isFile() || stat.nlink > 1 || !isBelow(relative(podDirectory, real))) throw outsideError(path);
    return file;
  } catch (error) {
    await file.close();
    throw error;
  }
}

function isBelow(path: string): boolean {
  return path !== "" && path !== ".." && !path.startsWith(`..${sep}`) && !path.startsWith(sep);
}

function outsideError(path: string): HttpError {
  return new HttpError(
    400,
    `failed to open log file ${JSON.stringify(path)}: not a file in the pod's log directory`,
  );
}

/** Read position in a log that may be rotated. */
interface LogCursor {
  /** Reads the next bytes; empty at the end. The buffer is valid until the next call. */
  read(): Promise<Buffer>;
  /** Returns whether the log was rotated. `read` then continues in the new file after the end of the current one. */
  findNext(): Promise<boolean>;
  close(): Promise<void>;
}

interface CursorOptions {
  readonly file: FileHandle;
  readonly position: number;
  /** Opens the current log file. Rejects while there is none. */
  open(): Promise<FileHandle>;
  onNextFile(): void;
}

const chunkBytes = 64 * 1_024;

function createLogCursor({ file, position, open, onNextFile }: CursorOptions): LogCursor {
  const buffer = Buffer.alloc(chunkBytes);
  let current = file;
  let next: FileHandle | undefined;
  let at = position;
  return {
    async read() {
      for (;;) {
        const { bytesRead } = await current.read(buffer, 0, chunkBytes, at);
        at += bytesRead;
        if (bytesRead > 0 || !next) return buffer.subarray(0, bytesRead);
        await current.close();
        [current, next, at] = [next, undefined, 0];
        onNextFile();
      }
    },
    async findNext() {
      // During a rotation there is briefly no file.
      const found = await open().catch(() => undefined);
      if (!found) return false;
      const [mine, named] = await Promise.all([current.stat(), found.stat()]);
      if (mine.ino === named.ino && mine.dev === named.dev) await found.close();
      else next = found;
      return next !== undefined;
    },
    async close() {
      await current.close();
      await next?.close();
    },
  };
}

/** The part of FileHandle that findTailStart uses. */
export interface ReadableFile {
  read(
    buffer: Buffer,
    offset: number,
    length: number,
    position: number,
  ): Promise<{ readonly bytesRead: number }>;
}

const blockBytes = 16 * 1_024;
const newline = 0x0a;

/** Finds the offset of the last `lines` lines of a file. A last line without a newline is not counted. */
export async function findTailStart(file: ReadableFile, size: number, lines: number): Promise<number> {
  const block = Buffer.alloc(blockBytes);
  let ends = 0;
  for (let right = size; right > 0; ) {
    const left = Math.max(0, right - blockBytes);
    const { bytesRead } = await file.read(block, 0, right - left, left);
    for (let at = bytesRead - 1; at >= 0; at--) {
      if (block[at] !== newline) continue;
      // The first requested line starts after the newline of the line before it.
      if (++ends > lines) return left + at + 1;
    }
    right = left;
  }
  return 0;
}

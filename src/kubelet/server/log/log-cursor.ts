import type { FileHandle } from "node:fs/promises";

/** A place in a log that may be rotated underneath. */
export interface LogCursor {
  /** The next bytes; none at the end. They are good until the next call. */
  read(): Promise<Buffer>;
  /** Whether the log goes on in another file. `read` then moves there once the current one has nothing more. */
  findNext(): Promise<boolean>;
  close(): Promise<void>;
}

interface CursorOptions {
  readonly file: FileHandle;
  readonly position: number;
  /** The file that has the log's name now. Rejects while there is none. */
  open(): Promise<FileHandle>;
  onNextFile(): void;
}

const chunkBytes = 64 * 1_024;

export function createLogCursor({ file, position, open, onNextFile }: CursorOptions): LogCursor {
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
      // In the middle of a rotation there is none: it comes.
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

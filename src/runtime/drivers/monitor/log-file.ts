import { type FileHandle, open } from "node:fs/promises";

/** Log file that can be moved away. Writes and reopening are serialized, so that no line is split. */
export interface LogFile {
  /**
   * Appends bytes. Drops what a full or broken disk rejects, as other runtimes do, rather than blocking the container.
   */
  append(bytes: Buffer): Promise<void>;
  reopen(): Promise<void>;
  close(): Promise<void>;
}

/** Mode of log files: kubelets and their log readers run in root's group. */
const mode = 0o640;
const newline = Buffer.from("\n");

export async function openLogFile(
  path: string,
  /** Called at the first loss, and at the first one after a successful write. */
  onLoss: (error: unknown) => void,
): Promise<LogFile> {
  let file: FileHandle | undefined = await open(path, "a", mode);
  let tail: Promise<void> = Promise.resolve();
  /** Set after a loss; `torn` if it left part of a line, which the next line must not continue. */
  let lost: { readonly torn: boolean } | undefined;

  function inTurn(task: () => Promise<void>): Promise<void> {
    const mine = tail.then(task);
    tail = mine.catch(() => {});
    return mine;
  }

  async function write(to: FileHandle, bytes: Buffer): Promise<void> {
    const whole = lost?.torn ? Buffer.concat([newline, bytes]) : bytes;
    let written = 0;
    try {
      while (written < whole.length) written += (await to.write(whole, written)).bytesWritten;
      lost = undefined;
    } catch (error) {
      if (!lost) onLoss(error);
      lost = { torn: written > 0 || lost?.torn === true };
    }
  }

  return {
    append: (bytes) =>
      inTurn(async () => {
        if (file && bytes.length > 0) await write(file, bytes);
      }),
    reopen: () =>
      inTurn(async () => {
        const next = await open(path, "a", mode);
        await file?.close();
        file = next;
        // The torn line stays in the old file.
        if (lost) lost = { torn: false };
      }),
    close: () =>
      inTurn(async () => {
        await file?.close();
        file = undefined;
      }),
  };
}

/** Creates timestamps of log lines: the wall clock with nanoseconds, which never decreases between two lines. */
export function createCriTime(source: { nowMs: () => number; monotonicNanos: () => bigint }): () => string {
  const driftNanos = 50_000_000n;
  let offset = wallNanos() - source.monotonicNanos();

  function wallNanos(): bigint {
    return BigInt(Math.floor(source.nowMs())) * 1_000_000n;
  }

  return () => {
    const wall = wallNanos();
    let nanos = source.monotonicNanos() + offset;
    // The wall clock was set: follow it.
    if (nanos - wall > driftNanos || wall - nanos > driftNanos) {
      offset += wall - nanos;
      nanos = wall;
    }
    const seconds = new Date(Number(nanos / 1_000_000n)).toISOString().slice(0, 19);
    return `${seconds}.${String(nanos % 1_000_000_000n).padStart(9, "0")}Z`;
  };
}

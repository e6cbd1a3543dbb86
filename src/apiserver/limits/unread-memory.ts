import type { Clock } from "../../lib/clock.ts";

/** A client that responses are written to: a socket, or the queue of a watch inside this process. */
export interface Reader {
  /** Bytes that were written and not yet read. */
  readonly writableLength: number;
  /** All bytes that were written, including unread ones. */
  readonly bytesWritten: number;
  /** True if unread bytes are kept by reference: `hold` counts them already. */
  readonly byReference?: boolean;
  destroy(): void;
}

/** Limits the memory that is held for readers that do not read, and disconnects the slowest of them. */
export interface UnreadMemory {
  add(reader: Reader): void;
  remove(reader: Reader): void;
  /** Counts data that waits to be written to the reader. Data that several readers wait for counts once. */
  hold(reader: Reader, data: object, bytes: number): void;
  release(reader: Reader, data: object, bytes: number): void;
  /** Reports bytes that were written to any reader, so that the limit is enforced before the next second. */
  wrote(bytes: number): void;
  /** Bytes held for readers, as of the last check. */
  totalBytes(): number;
  disconnects(): Readonly<Record<DisconnectReason, number>>;
  /** Checks all readers every second. */
  run(signal: AbortSignal): Promise<void>;
}

interface Stall extends UnreadState {
  readonly reader: Reader;
  /** Position that the reader must reach to count as reading again. */
  readonly written: number;
  readonly waitedSeconds: number;
}

const timeoutSeconds = 60;
export const defaultMaxUnreadBytes = 512 * 1_024 * 1_024;

/**
 * Seconds are counted in checks and not measured with the clock, because readers cannot read while the machine is suspended
 * or the process is stopped.
 */
export function createUnreadMemory(options: { clock: Clock; maxBytes: number }): UnreadMemory {
  const { clock, maxBytes } = options;
  const readers = new Set<Reader>();
  const stalls = new Map<Reader, Stall>();
  const heldBy = new Map<Reader, number>();
  const holders = new Map<object, number>();
  const disconnects = { timeout: 0, memory: 0 };
  let heldBytes = 0;
  let totalBytes = 0;
  let writtenSince = 0;

  function check(elapsedSeconds: number): void {
    totalBytes = heldBytes;
    writtenSince = 0;
    for (const reader of readers) {
      const pending = reader.writableLength;
      if (pending === 0) {
        stalls.delete(reader);
        continue;
      }
      const copied = reader.byReference ? 0 : pending;
      totalBytes += copied;
      stalls.set(reader, nextStall(reader, copied + (heldBy.get(reader) ?? 0), elapsedSeconds));
    }
    const chosen = decideDisconnects([...stalls.values()], totalBytes, { timeoutSeconds, maxBytes });
    for (const [{ reader, bytes }, reason] of chosen) {
      disconnects[reason]++;
      totalBytes -= bytes;
      remove(reader);
      reader.destroy();
    }
  }

  function nextStall(reader: Reader, bytes: number, elapsedSeconds: number): Stall {
    const before = stalls.get(reader);
    const taken = reader.bytesWritten - reader.writableLength;
    if (!before || taken >= before.written)
      return { reader, bytes, written: reader.bytesWritten, waitedSeconds: 0 };
    return { ...before, bytes, waitedSeconds: before.waitedSeconds + elapsedSeconds };
  }

  function remove(reader: Reader): void {
    readers.delete(reader);
    stalls.delete(reader);
    heldBy.delete(reader);
  }

  return {
    add: (reader) => void readers.add(reader),
    remove,
    hold(reader, data, bytes) {
      const count = holders.get(data) ?? 0;
      holders.set(data, count + 1);
      if (count === 0) heldBytes += bytes;
      if (readers.has(reader)) heldBy.set(reader, (heldBy.get(reader) ?? 0) + bytes);
    },
    release(reader, data, bytes) {
      const count = holders.get(data) ?? 1;
      if (count > 1) holders.set(data, count - 1);
      else {
        holders.delete(data);
        heldBytes -= bytes;
      }
      const held = heldBy.get(reader);
      if (held === undefined) return;
      if (held > bytes) heldBy.set(reader, held - bytes);
      else heldBy.delete(reader);
    },
    wrote(bytes) {
      writtenSince += bytes;
      // The sum is an upper bound of the held memory. A check is needed only when it exceeds the limit.
      if (totalBytes + writtenSince > maxBytes) check(0);
    },
    totalBytes: () => totalBytes,
    disconnects: () => disconnects,
    async run(signal) {
      while (!signal.aborted) {
        await clock.sleep(1_000, signal).catch(() => {});
        if (!signal.aborted) check(1);
      }
    },
  };
}

/** State of a reader with unread bytes. */
interface UnreadState {
  /** Seconds for which bytes have been unread. */
  readonly waitedSeconds: number;
  /** Memory that is freed when it is disconnected. */
  readonly bytes: number;
}

type DisconnectReason = "timeout" | "memory";

interface UnreadLimits {
  readonly timeoutSeconds: number;
  readonly maxBytes: number;
}

/** Share of the limit that remains in use after it was exceeded, so that the next write does not exceed it again. */
const keptShare = 0.9;

/**
 * Chooses the readers to disconnect: those over the timeout and, while the memory limit is exceeded, those whose bytes have
 * been unread for longest. Among equals, the one that holds most memory comes first.
 */
export function decideDisconnects<State extends UnreadState>(
  unread: readonly State[],
  totalBytes: number,
  { timeoutSeconds, maxBytes }: UnreadLimits,
): Map<State, DisconnectReason> {
  const chosen = new Map<State, DisconnectReason>();
  let left = totalBytes;
  for (const state of unread) {
    if (state.waitedSeconds < timeoutSeconds) continue;
    chosen.set(state, "timeout");
    left -= state.bytes;
  }
  if (left <= maxBytes) return chosen;
  const slowestFirst = unread
    .filter((state) => !chosen.has(state) && state.bytes > 0)
    .sort((a, b) => b.waitedSeconds - a.waitedSeconds || b.bytes - a.bytes);
  for (const state of slowestFirst) {
    chosen.set(state, "memory");
    left -= state.bytes;
    if (left <= keptShare * maxBytes) break;
  }
  return chosen;
}

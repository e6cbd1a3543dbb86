import { open } from "node:fs/promises";
import { countFreePages } from "./lmdb-free-pages.ts";
import { readMetaPages } from "./lmdb-pages.ts";
import type { StoreEvent } from "./store.ts";

/**
 * Keeps the data file longer than LMDB needs it, filled with zeros. A full disk then shows here, as an error like any
 * other; when LMDB itself cannot write a page, the lmdb package writes past the end of a buffer and may end the
 * process. Besides, a commit into blocks that the file already has needs no journal entry: it is faster.
 */
export interface Room {
  /** Resolves when a transaction can take that many new pages. */
  ensure(pages: number): Promise<void>;
  close(): Promise<void>;
}

const step = Buffer.alloc(2 ** 20);

export async function openRoom(file: string): Promise<Room> {
  const handle = await open(file, "r+");
  let { size } = await handle.stat();
  return {
    async ensure(pages) {
      const { lastPage, pageSize } = readMetaPages(file, handle.fd).newest;
      const needed = (lastPage + 1 + pages) * pageSize;
      try {
        while (size < needed) {
          const { bytesWritten } = await handle.write(step, 0, step.length, size);
          size += bytesWritten;
        }
      } catch (error) {
        // Compaction may have left enough free pages inside. Not each of them can be had: some stand alone, some
        // are still being read.
        if (countFreePages(file) < 2 * pages) throw error;
      }
    },
    close: () => handle.close(),
  };
}

const pageBytes = 4_096;

/** An upper bound of the new pages that the transaction of these events takes when it finds no free ones. */
export function pagesForEvents(events: readonly StoreEvent[]): number {
  // The list of free pages may need some hundred.
  let pages = 512;
  for (const event of events) {
    const before = event.previous?.value.length ?? 0;
    const after = event.kind === "put" ? event.entry.value.length : 0;
    // Of each table a leaf, the one it splits into, and branches above; for big values pages of their own.
    pages += 6 + Math.ceil(after / pageBytes) + Math.ceil((before + after) / pageBytes);
  }
  return pages;
}

/** Less than for any event, so that a compaction can still make room when no write finds any. */
export function pagesForRemovals(rows: number): number {
  return 64 + rows;
}

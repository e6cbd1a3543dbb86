import { open } from "node:fs/promises";
import type { RowWrite } from "./lmdb-environment.ts";
import { countFreePages } from "./lmdb-free-pages.ts";
import { readNewestMeta } from "./lmdb-pages.ts";

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
      const { lastPage, pageSize } = readNewestMeta(file, handle.fd);
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

/** An upper bound of the new pages that a transaction with these rows takes when it finds no free one. */
export function estimatePages(rows: readonly RowWrite[]): number {
  let pages = 0;
  let onlyRemoves = true;
  for (const { row, table } of rows) {
    // The leaf, the one it splits into, and branches above them; the log grows at its end, where they are shared.
    pages += table === "log" ? 1 : 4;
    if (!row) continue;
    onlyRemoves = false;
    pages += Math.ceil(row.length / pageBytes) + 1;
  }
  // The rest is for the list of free pages. Less for removals: they are what makes room.
  return pages + (onlyRemoves ? 64 : 512);
}

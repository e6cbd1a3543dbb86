import { open } from "node:fs/promises";
import type { TableName } from "./format.ts";
import { countFreePages } from "./free-pages.ts";
import { readMetaPages } from "./page-reader.ts";
import type { RowWrite } from "./tables.ts";

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

/** An upper bound of the new pages that a transaction takes when it finds no free ones. */
export function estimatePages(rows: readonly RowWrite[]): number {
  let pages = 0;
  // For the list of free pages. Less for a compaction, so that it can make room when no other write finds any.
  let spare = 64;
  for (const { table, row } of rows) {
    pages += touched(table, row);
    if (!row || table === "meta") continue;
    pages += Math.ceil(row.length / pageBytes);
    spare = 512;
  }
  return pages + spare;
}

/** Without the pages of their own that big rows have. */
function touched(table: TableName, row: Buffer | undefined): number {
  switch (table) {
    case "present":
      // A leaf, the one that it splits into, and the branches above.
      return 5;
    case "log":
      // New events stand side by side. Dropped ones do not: a leaf, the one that it merges with, and a branch above.
      return row ? 1 : 3;
    case "meta":
      return 1;
  }
}

import { readFreeRuns, readUint64 } from "./page-layout.ts";
import { openPageReader, type PageReader } from "./page-reader.ts";
import { walkTree } from "./walk-tree.ts";

/** The flags of the tree of free pages: keys are integers, and the path names a file. */
const freeTreeFlags = 0x4008;

/** The pages of a data file that a later transaction may take, in runs. */
export function readFreePages(pages: PageReader): { page: number; pages: number }[] {
  const { free } = pages.meta;
  const runs: { page: number; pages: number }[] = [];
  for (const meta of [pages.meta, pages.olderMeta]) {
    if (meta.free.flags !== freeTreeFlags) pages.damaged("the kind of the list of free pages");
  }
  walkTree(pages, free, {
    name: "free pages",
    compare: (a, b) => readUint64(a, 0) - readUint64(b, 0),
    visit: (_node, value) => runs.push(...(readFreeRuns(value) ?? pages.damaged("the list of free pages"))),
  });
  return runs;
}

export function countFreePages(file: string): number {
  const pages = openPageReader(file);
  try {
    return readFreePages(pages).reduce((sum, run) => sum + run.pages, 0);
  } finally {
    pages.close();
  }
}

/** A set of strings kept in order. */
export interface SortedKeys {
  insert(key: string): void;
  remove(key: string): void;
  /** Keys from `start` on, in order. Changes during the iteration may or may not be seen. */
  from(start: string): Generator<string>;
}

/** An insertion moves at most this many keys; a run that grows beyond it is cut in two. */
const maxRun = 512;

/** Runs of sorted keys, one after the other: never empty, except when there is no key at all. */
export function createSortedKeys(): SortedKeys {
  const runs: string[][] = [[]];

  /** The run in which a key is, or belongs: the last one that begins at or before it. */
  function runOf(key: string): number {
    let low = 0;
    let high = runs.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >>> 1;
      if ((runs[middle]?.[0] ?? "") <= key) low = middle;
      else high = middle - 1;
    }
    return low;
  }

  return {
    insert(key) {
      const index = runOf(key);
      const run = runs[index] ?? [];
      const at = lowerBound(run, key);
      if (run[at] === key) return;
      run.splice(at, 0, key);
      if (run.length > maxRun) runs.splice(index + 1, 0, run.splice(maxRun >>> 1));
    },
    remove(key) {
      const index = runOf(key);
      const run = runs[index] ?? [];
      const at = lowerBound(run, key);
      if (run[at] !== key) return;
      run.splice(at, 1);
      if (run.length === 0 && runs.length > 1) runs.splice(index, 1);
    },
    *from(start) {
      let index = runOf(start);
      for (let at = lowerBound(runs[index] ?? [], start); index < runs.length; index++, at = 0) {
        const run = runs[index] ?? [];
        for (; at < run.length; at++) yield run[at] as string;
      }
    },
  };
}

/** The index of the first key that is not before `key`. */
function lowerBound(run: readonly string[], key: string): number {
  let low = 0;
  let high = run.length;
  // Loading comes in order: most often the key belongs at the end.
  if (high > 0 && (run[high - 1] ?? "") < key) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((run[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Sorted set of strings. */
export interface SortedKeys {
  insert(key: string): void;
  remove(key: string): void;
  /** Iterates keys from `start` on. Concurrent changes may or may not be included. */
  from(start: string): Generator<string>;
}

/** Maximum length of a run, which limits the cost of an insertion; longer runs are split. */
const maxRun = 512;

/** Runs of sorted keys in order, none of them empty except for the first one of an empty set. */
export function createSortedKeys(): SortedKeys {
  const runs: string[][] = [[]];

  /** Index of the run that contains a key or into which it is inserted: the last one that starts at or before it. */
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

/** Index of the first key that is not less than `key`. */
function lowerBound(run: readonly string[], key: string): number {
  let low = 0;
  let high = run.length;
  // Keys are usually loaded in order and belong at the end.
  if (high > 0 && (run[high - 1] ?? "") < key) return high;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((run[middle] ?? "") < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

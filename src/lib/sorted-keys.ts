/** A set of strings kept in order. Insertion moves memory, which for pointers is cheap into the hundreds of thousands. */
export interface SortedKeys {
  insert(key: string): void;
  remove(key: string): void;
  /** Keys from `start` on, in order. Changes during the iteration may or may not be seen. */
  from(start: string): Generator<string>;
  size(): number;
}

export function createSortedKeys(): SortedKeys {
  const keys: string[] = [];

  /** The index of the first key that is not before `key`. */
  function lowerBound(key: string): number {
    let low = 0;
    let high = keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((keys[middle] ?? "") < key) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  return {
    insert(key) {
      // Loading comes in order: most often the new key is the last one.
      const last = keys.at(-1);
      if (last === undefined || key > last) {
        keys.push(key);
        return;
      }
      const at = lowerBound(key);
      if (keys[at] !== key) keys.splice(at, 0, key);
    },
    remove(key) {
      const at = lowerBound(key);
      if (keys[at] === key) keys.splice(at, 1);
    },
    *from(start) {
      for (let i = lowerBound(start); i < keys.length; i++) yield keys[i] as string;
    },
    size: () => keys.length,
  };
}

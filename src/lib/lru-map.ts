/** Map that evicts the least recently used entry when it exceeds `capacity`. */
export interface LruMap<V> {
  get(key: string): V | undefined;
  set(key: string, value: V): void;
  readonly size: number;
}

export function createLruMap<V>(capacity: number): LruMap<V> {
  // A Map iterates in insertion order; entries are reinserted on use, so the first one is the least recently used.
  const entries = new Map<string, V>();
  return {
    get size() {
      return entries.size;
    },
    get(key) {
      const value = entries.get(key);
      if (value === undefined) return undefined;
      entries.delete(key);
      entries.set(key, value);
      return value;
    },
    set(key, value) {
      entries.delete(key);
      entries.set(key, value);
      if (entries.size <= capacity) return;
      for (const oldest of entries.keys()) {
        entries.delete(oldest);
        return;
      }
    },
  };
}

/**
 * Views by key, stored as JSON. Setting an equal view is not a change, and a snapshot is the concatenation of the texts.
 */
export interface ViewTable {
  set(key: string, view: unknown): void;
  delete(key: string): void;
  size(): number;
  texts(): Iterable<string>;
  /** Changes since the last call. */
  takeChanges(): ViewChanges;
  /** Removes all views and pending changes. */
  clear(): void;
}

export interface ViewChanges {
  /** JSON of each new or changed view. */
  readonly changed: readonly string[];
  /** Keys of deleted views. */
  readonly gone: readonly string[];
}

export function createViewTable(): ViewTable {
  const texts = new Map<string, string>();
  const changed = new Set<string>();
  const gone = new Set<string>();
  return {
    set(key, view) {
      const text = JSON.stringify(view);
      if (texts.get(key) === text) return;
      texts.set(key, text);
      changed.add(key);
      gone.delete(key);
    },
    delete(key) {
      if (!texts.delete(key)) return;
      changed.delete(key);
      gone.add(key);
    },
    size: () => texts.size,
    texts: () => texts.values(),
    takeChanges() {
      const changes = { changed: [...changed].map((key) => texts.get(key) ?? "null"), gone: [...gone] };
      changed.clear();
      gone.clear();
      return changes;
    },
    clear() {
      texts.clear();
      changed.clear();
      gone.clear();
    },
  };
}

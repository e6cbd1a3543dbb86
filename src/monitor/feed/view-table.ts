/**
 * Views by key, each kept as the JSON that it was sent as: what is set to the same again is no change, and a snapshot
 * is those texts put together.
 */
export interface ViewTable {
  set(key: string, view: unknown): void;
  delete(key: string): void;
  size(): number;
  texts(): Iterable<string>;
  /** What happened since the last call. */
  takeChanges(): ViewChanges;
  /** Forgets everything, also what happened. */
  clear(): void;
}

export interface ViewChanges {
  /** JSON of each view that is new or different. */
  readonly changed: readonly string[];
  /** Keys of those that were deleted. */
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

interface Delayed {
  readonly key: string;
  readonly readyAt: number;
}

/** Keys that wait for a time, each once: the earliest time that was asked for. */
export interface DelayedKeys {
  add(key: string, readyAt: number): void;
  /** When the first of them is ready. */
  nextAt(): number | undefined;
  /** The first one that is ready, taken out. */
  take(now: number): string | undefined;
}

/** A binary heap. An entry that an earlier one replaced stays in it, and is passed over when it comes up. */
export function createDelayedKeys(): DelayedKeys {
  const heap: Delayed[] = [];
  const times = new Map<string, number>();

  const timeAt = (index: number) => heap[index]?.readyAt ?? Number.POSITIVE_INFINITY;

  function swap(a: number, b: number): void {
    const [first, second] = [heap[a], heap[b]];
    if (!first || !second) return;
    heap[a] = second;
    heap[b] = first;
  }

  function push(entry: Delayed): void {
    heap.push(entry);
    for (let at = heap.length - 1; at > 0; ) {
      const parent = (at - 1) >> 1;
      if (timeAt(parent) <= timeAt(at)) return;
      swap(at, parent);
      at = parent;
    }
  }

  function pop(): void {
    swap(0, heap.length - 1);
    heap.pop();
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const child = timeAt(left + 1) < timeAt(left) ? left + 1 : left;
      if (timeAt(child) >= timeAt(at)) return;
      swap(at, child);
      at = child;
    }
  }

  /** The first entry that still counts. */
  function first(): Delayed | undefined {
    for (;;) {
      const entry = heap[0];
      if (!entry || times.get(entry.key) === entry.readyAt) return entry;
      pop();
    }
  }

  return {
    add(key, readyAt) {
      if (readyAt >= (times.get(key) ?? Number.POSITIVE_INFINITY)) return;
      times.set(key, readyAt);
      push({ key, readyAt });
    },
    nextAt: () => first()?.readyAt,
    take(now) {
      const entry = first();
      if (!entry || entry.readyAt > now) return undefined;
      pop();
      times.delete(entry.key);
      return entry.key;
    },
  };
}

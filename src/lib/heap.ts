/** Binary heap. */
export interface Heap<T> {
  push(item: T): void;
  peek(): T | undefined;
  pop(): T | undefined;
  /** All items in no particular order. They must not be changed so that their order changes. */
  values(): Iterable<T>;
  clear(): void;
}

export function createHeap<T>(isBefore: (a: T, b: T) => boolean): Heap<T> {
  const items: T[] = [];

  function isOutOfOrder(upper: number, lower: number): boolean {
    const [a, b] = [items[upper], items[lower]];
    return a !== undefined && b !== undefined && isBefore(b, a);
  }

  function swap(a: number, b: number): void {
    const [first, second] = [items[a], items[b]];
    if (first === undefined || second === undefined) return;
    items[a] = second;
    items[b] = first;
  }

  return {
    push(item) {
      items.push(item);
      for (let at = items.length - 1; at > 0; ) {
        const parent = (at - 1) >> 1;
        if (!isOutOfOrder(parent, at)) return;
        swap(parent, at);
        at = parent;
      }
    },
    peek: () => items[0],
    pop() {
      swap(0, items.length - 1);
      const first = items.pop();
      for (let at = 0; ; ) {
        const left = 2 * at + 1;
        const child = isOutOfOrder(left, left + 1) ? left + 1 : left;
        if (!isOutOfOrder(at, child)) return first;
        swap(at, child);
        at = child;
      }
    },
    values: () => items,
    clear() {
      items.length = 0;
    },
  };
}

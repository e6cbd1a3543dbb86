import { countIndexes, type IndexInterval } from "../../api/kinds/batch/completion-indexes.ts";

/** Set of completion indexes as ordered intervals, so that its size depends on the gaps and not on the completions. */
export interface IndexSet {
  readonly size: number;
  has(index: number): boolean;
  /** Number of indexes that both sets contain. */
  countCommon(other: IndexSet): number;
  union(other: IndexSet): IndexSet;
  /** The first `count` indexes below `end` that the set does not contain. */
  firstMissing(count: number, end: number): number[];
  /** Text form of the status: `0-2,5,7,8`. */
  toString(): string;
  readonly intervals: readonly IndexInterval[];
}

export function indexSetOf(indexes: Iterable<number>): IndexSet {
  return createIndexSet([...indexes].map((index) => [index, index] as const));
}

/** Parses the text form of a status. Malformed intervals and indexes from `end` on are ignored. */
export function parseIndexSet(text: string | undefined, end: number): IndexSet {
  const intervals: IndexInterval[] = [];
  for (const part of text ? text.split(",") : []) {
    const [, first = "", last = first] = /^(\d{1,15})(?:-(\d{1,15}))?$/.exec(part) ?? [];
    if (first !== "" && Number(first) < end) intervals.push([Number(first), Math.min(Number(last), end - 1)]);
  }
  return createIndexSet(intervals);
}

function createIndexSet(unordered: readonly IndexInterval[]): IndexSet {
  const intervals = merge(unordered);

  return {
    intervals,
    size: countIndexes(intervals),
    has(index) {
      const interval = intervals[firstFrom(intervals, index)];
      return interval !== undefined && interval[0] <= index;
    },
    countCommon(other) {
      let common = 0;
      for (let i = 0, j = 0; ; ) {
        const left = intervals[i];
        const right = other.intervals[j];
        if (!left || !right) return common;
        common += Math.max(0, Math.min(left[1], right[1]) - Math.max(left[0], right[0]) + 1);
        if (left[1] <= right[1]) i++;
        if (right[1] <= left[1]) j++;
      }
    },
    union: (other) => createIndexSet([...intervals, ...other.intervals]),
    firstMissing(count, end) {
      const missing: number[] = [];
      let candidate = 0;
      for (const [first, last] of [...intervals, [end, end] as const]) {
        while (candidate < Math.min(first, end) && missing.length < count) missing.push(candidate++);
        candidate = Math.max(candidate, last + 1);
      }
      return missing;
    },
    toString: () => intervals.map(formatInterval).join(","),
  };
}

/** Position of the first interval that ends at or after an index. */
function firstFrom(intervals: readonly IndexInterval[], index: number): number {
  let low = 0;
  for (let high = intervals.length; low < high; ) {
    const middle = (low + high) >> 1;
    if ((intervals[middle]?.[1] ?? 0) >= index) high = middle;
    else low = middle + 1;
  }
  return low;
}

function merge(unordered: readonly IndexInterval[]): readonly IndexInterval[] {
  const result: [number, number][] = [];
  for (const [first, last] of [...unordered].sort((a, b) => a[0] - b[0])) {
    const previous = result.at(-1);
    if (previous && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else if (first <= last) result.push([first, last]);
  }
  return result;
}

/** As upstream, two neighbours are listed and only longer intervals have a hyphen. */
function formatInterval([first, last]: IndexInterval): string {
  if (first === last) return `${first}`;
  return last === first + 1 ? `${first},${last}` : `${first}-${last}`;
}

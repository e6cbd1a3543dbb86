/** First and last index of an interval of completion indexes. */
export type IndexInterval = readonly [first: number, last: number];

/** Error in the text form of completion indexes, in the words of upstream. */
export class IndexFormatError extends Error {}

/** Parses completion indexes below `completions`: `0-2,5`. Throws an IndexFormatError. */
export function parseIndexes(text: string, completions: number): IndexInterval[] {
  const intervals: IndexInterval[] = [];
  for (const part of text === "" ? [] : text.split(",")) {
    const interval = parseInterval(part, completions);
    const previous = intervals.at(-1)?.[1];
    if (previous !== undefined && previous >= interval[0]) throw notIncreasing(previous, interval[0]);
    intervals.push(interval);
  }
  return intervals;
}

/** Parses one interval of a list: `3` or `3-5`. */
export function parseInterval(text: string, completions: number): IndexInterval {
  const limits = text.split("-");
  if (limits.length > 2) {
    const rule = "an index interval can have at most two parts separated by '-'";
    throw new IndexFormatError(`the fragment ${JSON.stringify(text)} violates the requirement that ${rule}`);
  }
  const [first = 0, last = first] = limits.map((limit) => parseIndex(limit, completions));
  if (limits.length === 2 && first >= last) throw notIncreasing(first, last);
  return [first, last];
}

function parseIndex(text: string, completions: number): number {
  const index = /^\+?\d{1,19}$/.test(text) ? Number(text) : undefined;
  if (index === undefined)
    throw new IndexFormatError(`cannot convert string to integer for index: ${JSON.stringify(text)}`);
  if (index >= completions) throw new IndexFormatError(`too large index: ${JSON.stringify(text)}`);
  return index;
}

function notIncreasing(previous: number, current: number): IndexFormatError {
  return new IndexFormatError(`non-increasing order, previous: ${previous}, current: ${current}`);
}

export function countIndexes(intervals: readonly IndexInterval[]): number {
  return intervals.reduce((sum, [first, last]) => sum + last - first + 1, 0);
}

/** First index that both lists contain. */
export function firstCommonIndex(
  a: readonly IndexInterval[],
  b: readonly IndexInterval[],
): number | undefined {
  for (let i = 0, j = 0; ; ) {
    const left = a[i];
    const right = b[j];
    if (!left || !right) return undefined;
    if (left[0] <= right[1] && right[0] <= left[1]) return Math.max(left[0], right[0]);
    if (left[0] <= right[0]) i++;
    else j++;
  }
}

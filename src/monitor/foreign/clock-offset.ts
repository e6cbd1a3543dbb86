/** Between these lies how far the server's clock is ahead of ours, in milliseconds. */
export interface OffsetBounds {
  readonly least: number;
  readonly most: number;
}

/** One answer: when it was asked for and came, by our clock, and what the server wrote into `Date`, cut to whole seconds. */
export interface TimedAnswer {
  readonly sentMs: number;
  readonly receivedMs: number;
  readonly dateMs: number;
}

/** Less than this is what whole seconds and the way of an answer make: such clocks count as equal. */
const negligibleMs = 2_000;

/** Each answer narrows it down. One that contradicts those before shows that a clock was set: only it counts. */
export function narrowOffset(known: OffsetBounds | undefined, answer: TimedAnswer): OffsetBounds {
  const { sentMs, receivedMs, dateMs } = answer;
  const seen = { least: dateMs - receivedMs, most: dateMs + 1_000 - sentMs };
  if (!known) return seen;
  const both = { least: Math.max(known.least, seen.least), most: Math.min(known.most, seen.most) };
  return both.least <= both.most ? both : seen;
}

export function offsetMs(bounds: OffsetBounds | undefined): number {
  if (!bounds) return 0;
  const middle = Math.round((bounds.least + bounds.most) / 2);
  return Math.abs(middle) < negligibleMs ? 0 : middle;
}

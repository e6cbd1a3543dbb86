import type { LogOptions } from "./log-options.ts";

/** Turns the bytes of a log in CRI's format into what its reader asked for. Pure but for what it has seen. */
export interface LogRenderer {
  push(bytes: Buffer): Buffer;
  /** What is left when nothing more comes: a last line without its end. */
  end(): Buffer;
  /** Another file begins: what is left of a line belongs to none in it. */
  restart(): void;
  /** The reader has all it asked for. */
  done(): boolean;
}

type RenderOptions = Pick<LogOptions, "timestamps" | "sinceMs" | "limitBytes" | "stream"> & {
  /** How many lines of the file. */
  readonly mostLines?: number;
};

const newline = 0x0a;
const space = 0x20;
/** Runtimes cut lines at 16 KiB; what is longer than this is not a log's line, and is skipped. */
const longestLine = 1_024 * 1_024;

export function createLogRenderer(options: RenderOptions): LogRenderer {
  const { timestamps, sinceMs = Number.NEGATIVE_INFINITY } = options;
  let pending: Buffer = Buffer.alloc(0);
  let skipping = false;
  let linesLeft = options.mostLines ?? Number.POSITIVE_INFINITY;
  let bytesLeft = options.limitBytes ?? Number.POSITIVE_INFINITY;
  /** A line that came in parts has its time before the first of them only. */
  let atLineStart = true;

  function render(bytes: Buffer): Buffer[] {
    const line = parseLogLine(bytes);
    if (!line || linesLeft <= 0 || bytesLeft <= 0) return [];
    linesLeft--;
    const wanted = options.stream === "All" || options.stream.toLowerCase() === line.stream;
    const prefix = timestamps && atLineStart ? [Buffer.from(`${line.time} `)] : [];
    const isOld = line.timeMs < sinceMs;
    atLineStart = line.content.length === 0 || line.content.at(-1) === newline;
    if (isOld || !wanted) return [];
    const whole = Buffer.concat([...prefix, line.content]);
    const text = whole.length > bytesLeft ? whole.subarray(0, bytesLeft) : whole;
    bytesLeft -= text.length;
    return [text];
  }

  return {
    push(bytes) {
      let rest = pending.length > 0 ? Buffer.concat([pending, bytes]) : bytes;
      const parts: Buffer[] = [];
      for (let end = rest.indexOf(newline); end >= 0; end = rest.indexOf(newline)) {
        if (!skipping) parts.push(...render(rest.subarray(0, end + 1)));
        skipping = false;
        rest = rest.subarray(end + 1);
      }
      skipping ||= rest.length > longestLine;
      // A copy: the caller's buffer may be used again.
      pending = skipping ? Buffer.alloc(0) : Buffer.from(rest);
      return Buffer.concat(parts);
    },
    end: () => Buffer.concat(pending.length > 0 ? render(pending) : []),
    restart() {
      pending = Buffer.alloc(0);
      skipping = false;
    },
    done: () => linesLeft <= 0 || bytesLeft <= 0,
  };
}

interface LogLine {
  /** With nine digits behind the second. */
  readonly time: string;
  readonly timeMs: number;
  readonly stream: string;
  /** With the end of the line, unless it goes on. */
  readonly content: Buffer;
}

/** `2016-10-06T00:17:09.669794202Z stdout F text`; undefined for what is not like that. */
function parseLogLine(line: Buffer): LogLine | undefined {
  const first = line.indexOf(space);
  const second = line.indexOf(space, first + 1);
  const third = line.indexOf(space, second + 1);
  if (first < 0 || second < 0 || third < 0) return undefined;
  const written = line.toString("latin1", 0, first);
  const match = /^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)$/.exec(written);
  const stream = line.toString("latin1", first + 1, second);
  if (!match || (stream !== "stdout" && stream !== "stderr")) return undefined;
  const [, seconds = "", fraction = "", zone = ""] = match;
  const isPartial = line.toString("latin1", second + 1, third).split(":")[0] === "P";
  const end = isPartial && line.at(-1) === newline ? line.length - 1 : line.length;
  return {
    time: `${seconds}.${fraction.padEnd(9, "0")}${zone}`,
    timeMs: Date.parse(`${seconds}.${fraction.padEnd(3, "0").slice(0, 3)}${zone}`),
    stream,
    content: line.subarray(third + 1, end),
  };
}

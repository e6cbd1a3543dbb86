import type { LogOptions } from "./log-options.ts";

/** Incremental converter from the CRI log format to the requested output. */
export interface LogRenderer {
  push(bytes: Buffer): Buffer;
  /** Returns the rest at the end of the log: a last line without a newline. */
  end(): Buffer;
  /** Discards an incomplete line when the next file starts. */
  restart(): void;
  /** Returns whether a limit was reached. */
  done(): boolean;
}

type RenderOptions = Pick<LogOptions, "timestamps" | "sinceMs" | "limitBytes" | "stream"> & {
  /** Maximum number of lines read from the file. */
  readonly maxLines?: number;
};

const newline = 0x0a;
const space = 0x20;
/** Longer lines are skipped. Runtimes split lines at 16 KiB. */
const maxLineBytes = 1_024 * 1_024;

export function createLogRenderer(options: RenderOptions): LogRenderer {
  const { timestamps, sinceMs = Number.NEGATIVE_INFINITY } = options;
  let pending: Buffer = Buffer.alloc(0);
  let skipping = false;
  let linesLeft = options.maxLines ?? Number.POSITIVE_INFINITY;
  let bytesLeft = options.limitBytes ?? Number.POSITIVE_INFINITY;
  /** A line in several parts has a timestamp before its first part only. */
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
      skipping ||= rest.length > maxLineBytes;
      // Copies, because the caller reuses its buffer.
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
  /** RFC 3339 with nanoseconds. */
  readonly time: string;
  readonly timeMs: number;
  readonly stream: string;
  /** Includes the newline, unless the line continues in another part. */
  readonly content: Buffer;
}

/** Parses `2016-10-06T00:17:09.669794202Z stdout F text`. Undefined if malformed. */
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

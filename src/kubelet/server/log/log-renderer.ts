import { HttpError, readFlag } from "../../../lib/http/http-exchange.ts";

export interface LogOptions {
  readonly follow: boolean;
  readonly previous: boolean;
  readonly timestamps: boolean;
  /** Time of the oldest line, in milliseconds since the epoch. */
  readonly sinceMs: number | undefined;
  readonly tailLines: number | undefined;
  readonly limitBytes: number | undefined;
  readonly stream: "All" | "Stdout" | "Stderr";
}

const streams = ["All", "Stdout", "Stderr"] as const;

const undecodable = () => new HttpError(400, '{"message": "Unable to decode query."}');
const invalid = () => new HttpError(422, '{"message": "Invalid request."}');

/** Parses the query of `/containerLogs`. */
export function parseLogOptions(query: URLSearchParams, now: number): LogOptions {
  const sinceSeconds = readInteger(query, "sinceSeconds");
  const sinceTime = readTime(query, "sinceTime");
  const tailLines = query.get("tail") === "all" ? undefined : readInteger(query, "tail", "tailLines");
  const limitBytes = readInteger(query, "limitBytes");
  const stream = streams.find((known) => known === (query.get("stream") ?? "All"));
  if ((tailLines ?? 0) < 0 || (limitBytes ?? 1) < 1 || (sinceSeconds ?? 1) < 1) throw invalid();
  if (sinceSeconds !== undefined && sinceTime !== undefined) throw invalid();
  // As upstream: the last lines of one stream cannot be located without reading the whole file.
  if (!stream || (stream !== "All" && tailLines !== undefined)) throw invalid();
  return {
    follow: readFlag(query, "follow"),
    previous: readFlag(query, "previous"),
    timestamps: readFlag(query, "timestamps"),
    sinceMs: sinceSeconds === undefined ? sinceTime : now - sinceSeconds * 1_000,
    tailLines,
    limitBytes,
    stream,
  };
}

/** Reads an integer from the first parameter that is present. */
function readInteger(query: URLSearchParams, ...names: readonly string[]): number | undefined {
  const value = names.map((name) => query.get(name)).find((text) => text !== null);
  if (value === undefined || value === null || value === "") return undefined;
  const number = /^[+-]?\d+$/.test(value) ? Number(value) : Number.NaN;
  if (!Number.isSafeInteger(number)) throw undecodable();
  return number;
}

function readTime(query: URLSearchParams, name: string): number | undefined {
  const value = query.get(name);
  if (!value || value === "null") return undefined;
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/.test(value);
  const time = isTime ? Date.parse(value) : Number.NaN;
  if (Number.isNaN(time)) throw undecodable();
  return time;
}

/** Incremental converter from the CRI log format to the requested output. */
interface LogRenderer {
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

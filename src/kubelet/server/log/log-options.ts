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

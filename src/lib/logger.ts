import { type DestinationStream, pino } from "pino";

export const logFormats = ["text", "json"] as const;
export const logLevels = ["trace", "debug", "info", "warn", "error"] as const;
export type LogFormat = (typeof logFormats)[number];
export type LogLevel = (typeof logLevels)[number];

type LogFields = Record<string, unknown>;
type Log = (message: string, fields?: LogFields) => void;

/** Structured logger. Fields are data, never part of the message. */
export interface Logger {
  /** Whether debug lines are written, so that expensive fields need not be computed otherwise. */
  readonly debugging: boolean;
  debug: Log;
  info: Log;
  warn: Log;
  error: Log;
  /** Creates a logger whose lines have the component's name. */
  component(name: string): Logger;
}

export interface LoggerOptions {
  format: LogFormat;
  level: LogLevel;
  /** Output stream. Default: standard error. */
  destination?: { write(text: string): unknown };
}

export function createLogger({ format, level, destination = process.stderr }: LoggerOptions): Logger {
  const stream: DestinationStream = {
    write: (line) => void destination.write(format === "json" ? line : formatLogLine(line)),
  };
  return wrap(
    pino(
      {
        level,
        base: null,
        timestamp: () => `,"time":"${new Date().toISOString()}"`,
        formatters: { level: (label) => ({ level: label }) },
        // pino serializes an Error's message and stack only for keys with a serializer.
        serializers: { error: pino.stdSerializers.err },
      },
      stream,
    ),
  );
}

export const silentLogger: Logger = {
  debugging: false,
  debug() {},
  info() {},
  warn() {},
  error() {},
  component: () => silentLogger,
};

function wrap(target: pino.Logger): Logger {
  return {
    debugging: target.isLevelEnabled("debug"),
    debug: (message, fields) => target.debug(fields ?? {}, message),
    info: (message, fields) => target.info(fields ?? {}, message),
    warn: (message, fields) => target.warn(fields ?? {}, message),
    error: (message, fields) => target.error(fields ?? {}, message),
    component: (name) => wrap(target.child({ component: name })),
  };
}

/** Formats a JSON log line for terminals: `12:00:00.000 INFO  apiserver  listening  port=6443`. */
export function formatLogLine(line: string): string {
  const { time, level, component, msg, error, ...fields } = JSON.parse(line);
  const clock = String(time).slice(11, 23);
  const details = Object.entries(fields).map(([name, value]) => `${name}=${formatValue(value)}`);
  const parts = [
    `${clock} ${String(level).toUpperCase().padEnd(5)}`,
    component,
    msg,
    ...details,
    formatError(error),
  ];
  return `${parts.filter(Boolean).join("  ")}\n`;
}

function formatValue(value: unknown): string {
  if (typeof value === "string" && /^[\w./:@-]+$/.test(value)) return value;
  // JSON escapes only C0 control characters; values may contain text from pods or registries.
  return (JSON.stringify(value) ?? "").replace(
    /[\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g,
    (letter) => `\\u${letter.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

function formatError(error: unknown): string | undefined {
  if (typeof error !== "object" || error === null)
    return error === undefined ? undefined : `error=${formatValue(error)}`;
  const message = "message" in error ? error.message : error;
  return `error=${formatValue(message)}`;
}

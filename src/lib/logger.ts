import { type DestinationStream, pino } from "pino";
import { formatLogLine } from "./format-log-line.ts";

export const logFormats = ["text", "json"] as const;
export const logLevels = ["trace", "debug", "info", "warn", "error"] as const;
export type LogFormat = (typeof logFormats)[number];
export type LogLevel = (typeof logLevels)[number];

type LogFields = Record<string, unknown>;
type Log = (message: string, fields?: LogFields) => void;

/** What components log through. Fields are data, never part of the message. */
export interface Logger {
  /** Whether debug lines are written: who would have to work for one asks first. */
  readonly debugging: boolean;
  debug: Log;
  info: Log;
  warn: Log;
  error: Log;
  /** A logger whose lines carry the component's name. */
  component(name: string): Logger;
}

export interface LoggerOptions {
  format: LogFormat;
  level: LogLevel;
  /** Where lines go; standard error unless told. */
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
        // pino writes an Error's message and stack only under the key it has a serializer for.
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

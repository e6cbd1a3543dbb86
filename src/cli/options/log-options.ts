import { type Command, Option } from "commander";
import {
  createLogger,
  type LogFormat,
  type Logger,
  type LogLevel,
  logFormats,
  logLevels,
} from "../../lib/logger.ts";

interface LogOptions {
  logFormat: LogFormat;
  logLevel: LogLevel;
}

/** Adds `--log-format` and `--log-level`, for commands that keep running. */
export function addLogOptions(command: Command): Command {
  return command
    .addOption(new Option("--log-format <format>", "format of log lines").choices(logFormats).default("text"))
    .addOption(
      new Option("--log-level <level>", "minimum level of log lines").choices(logLevels).default("info"),
    );
}

export function loggerOf({ logFormat, logLevel }: LogOptions): Logger {
  return createLogger({ format: logFormat, level: logLevel });
}

import { type Command, Option } from "commander";
import {
  createLogger,
  type LogFormat,
  type Logger,
  type LogLevel,
  logFormats,
  logLevels,
} from "../lib/logger.ts";

interface LogOptions {
  logFormat: LogFormat;
  logLevel: LogLevel;
}

/** `--log-format` and `--log-level`, on every command that keeps running. */
export function addLogOptions(command: Command): Command {
  return command
    .addOption(new Option("--log-format <format>", "how log lines look").choices(logFormats).default("text"))
    .addOption(
      new Option("--log-level <level>", "the least important lines to show")
        .choices(logLevels)
        .default("info"),
    );
}

export function loggerOf({ logFormat, logLevel }: LogOptions): Logger {
  return createLogger({ format: logFormat, level: logLevel });
}

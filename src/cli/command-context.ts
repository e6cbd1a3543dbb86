import type { Command } from "commander";

/** What commands get from the program they are part of. */
export interface CommandContext {
  /** Every command with all of its options, for those that describe them. */
  wholeProgram(): Promise<Command>;
}

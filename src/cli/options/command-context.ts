import type { Command } from "commander";

/** Name under which the user runs the commands: `kindling`, or one of the kubectl plugins `kubectl why` and `kubectl kindling`. */
export type ProgramName = "kindling" | "kubectl" | "kubectl kindling";

/** Dependencies of a command on the whole program. */
export interface CommandContext {
  readonly programName: ProgramName;
  /** Loads all commands with their options, for shell completion. */
  wholeProgram(): Promise<Command>;
}

import { CommanderError } from "commander";
import { messageOf } from "../lib/message-of.ts";
import { buildProgram } from "./commands.ts";
import type { ProgramName } from "./options/command-context.ts";
import { AlreadyReportedError, UsageError } from "./options/command-errors.ts";
import { printable } from "./printer/terminal-text.ts";
import { stopWhenOutputCloses } from "./run/closed-output.ts";

/** Exit codes that scripts rely on. */
const exitCode = { done: 0, failed: 1, usage: 2 } as const;

/** Runs one command line and returns its exit code. */
export async function runCli(
  args: readonly string[],
  programName: ProgramName = "kindling",
): Promise<number> {
  // Like kubectl and crictl: an empty variable counts as unset.
  for (const name of ["KUBECONFIG", "CONTAINER_RUNTIME_ENDPOINT"])
    if (process.env[name] === "") delete process.env[name];
  stopWhenOutputCloses();
  try {
    const named = args.filter((arg) => !arg.startsWith("-"));
    const wanted = named[0] === "help" ? named[1] : named[0];
    const program = await buildProgram((name) => name === wanted, programName);
    if (args.length === 0) program.help();
    const first = args[0] === "help" ? args[1] : args[0];
    // Otherwise help for an unknown command would show the general help without an error.
    const isUnknown =
      first !== undefined &&
      !first.startsWith("-") &&
      !program.commands.some((command) => command.name() === first);
    await program.parseAsync(isUnknown ? [first] : args, { from: "user" });
    return exitCode.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    if (error instanceof AlreadyReportedError) return exitCode.failed;
    // The message can contain text from a registry or a pod.
    console.error(
      `${programName === "kubectl" ? "kubectl why" : programName}: ${printable(messageOf(error))}`,
    );
    return error instanceof UsageError ? exitCode.usage : exitCode.failed;
  }
}

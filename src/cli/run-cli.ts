import { CommanderError } from "commander";
import { messageOf } from "../lib/message-of.ts";
import { buildProgram } from "./build-program.ts";
import { printable } from "./printer/terminal-text.ts";
import { ToldError } from "./told-error.ts";
import { UsageError } from "./usage-error.ts";

/** Exit codes that scripts rely on. */
const exitCode = { done: 0, failed: 1, usage: 2 } as const;

/** Runs one command line and answers with its exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  // As kubectl and crictl have it: what is set to nothing is not set.
  for (const name of ["KUBECONFIG", "CONTAINER_RUNTIME_ENDPOINT"])
    if (process.env[name] === "") delete process.env[name];
  try {
    const named = args.filter((arg) => !arg.startsWith("-"));
    const wanted = named[0] === "help" ? named[1] : named[0];
    const program = await buildProgram((name) => name === wanted);
    if (args.length === 0) program.help();
    const first = args[0] === "help" ? args[1] : args[0];
    // Else whoever asks for help about a command that is not there gets that of all, without a word about it.
    const isUnknown =
      first !== undefined &&
      !first.startsWith("-") &&
      !program.commands.some((command) => command.name() === first);
    await program.parseAsync(isUnknown ? [first] : args, { from: "user" });
    return exitCode.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    if (error instanceof ToldError) return exitCode.failed;
    // It may repeat the words of a registry or a pod.
    console.error(`kindling: ${printable(messageOf(error))}`);
    return error instanceof UsageError ? exitCode.usage : exitCode.failed;
  }
}

import { CommanderError } from "commander";
import { buildProgram } from "./build-program.ts";
import { printable } from "./printer/terminal-text.ts";
import { ToldError } from "./told-error.ts";
import { UsageError } from "./usage-error.ts";

/** Exit codes that scripts rely on. */
const exitCode = { done: 0, failed: 1, usage: 2 } as const;

/** Runs one command line and answers with its exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  try {
    const named = args.filter((arg) => !arg.startsWith("-"));
    const wanted = named[0] === "help" ? named[1] : named[0];
    const program = await buildProgram((name) => name === wanted);
    if (args.length === 0) program.help();
    await program.parseAsync(args, { from: "user" });
    return exitCode.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    if (error instanceof ToldError) return exitCode.failed;
    // It may repeat the words of a registry or a pod.
    console.error(`kindling: ${printable(error instanceof Error ? error.message : String(error))}`);
    return error instanceof UsageError ? exitCode.usage : exitCode.failed;
  }
}

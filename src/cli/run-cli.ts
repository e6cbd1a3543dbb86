import { Command, CommanderError } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import { commands } from "./commands.ts";
import { UsageError } from "./usage-error.ts";

/** Exit codes that scripts rely on. */
const exitCode = { done: 0, failed: 1, usage: 2 } as const;

/** Runs one command line and answers with its exit code. */
export async function runCli(args: readonly string[]): Promise<number> {
  try {
    const program = await buildProgram(args);
    await program.parseAsync(args, { from: "user" });
    return exitCode.done;
  } catch (error) {
    if (error instanceof CommanderError) return error.exitCode === 0 ? exitCode.done : exitCode.usage;
    console.error(`kindling: ${error instanceof Error ? error.message : String(error)}`);
    return error instanceof UsageError ? exitCode.usage : exitCode.failed;
  }
}

async function buildProgram(args: readonly string[]): Promise<Command> {
  const program = new Command("kindling")
    .description("A Kubernetes control plane and node that shows how every pod starts.")
    .version(packageJson.version, "-v, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help of a command")
    .showHelpAfterError("(add --help for the options)")
    .exitOverride();
  const named = args.filter((arg) => !arg.startsWith("-"));
  const wanted = named[0] === "help" ? named[1] : named[0];
  for (const entry of commands) {
    const command = program.command(entry.name).summary(entry.summary).description(entry.summary);
    command.exitOverride().copyInheritedSettings(program);
    if (entry.name === wanted) (await entry.load()).configure(command);
  }
  if (args.length === 0) program.help();
  return program;
}

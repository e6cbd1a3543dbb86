import { Command } from "commander";
import packageJson from "../../package.json" with { type: "json" };
import type { CommandContext } from "./command-context.ts";
import { commands } from "./commands.ts";

/** The command line as a tree. Only commands that are `wanted` are read from their files: starting costs time. */
export async function buildProgram(wanted: (name: string) => boolean): Promise<Command> {
  const program = new Command("kindling")
    .description("A Kubernetes control plane and node that shows how every pod starts.")
    .version(packageJson.version, "-v, --version", "print the version")
    .helpOption("-h, --help", "show help")
    .helpCommand("help [command]", "show help of a command")
    .showHelpAfterError("(add --help for the options)")
    .addHelpText("after", examples)
    .exitOverride();
  const context: CommandContext = { wholeProgram: () => buildProgram(() => true) };
  for (const entry of commands) {
    const command = program.command(entry.name).summary(entry.summary).description(entry.summary);
    command.exitOverride().copyInheritedSettings(program);
    if (wanted(entry.name)) (await entry.load()).configure(command, context);
  }
  return program;
}

const examples = `
Examples:
  kindling up                    a cluster, here and now
  kindling up --help             all that can be set
  kindling why web-0             what a pod waits for
  kindling status                what runs
  kindling reset                 as if it had never been`;

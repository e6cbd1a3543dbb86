import { Argument, type Command } from "commander";
import { bashScript, fishScript, zshScript } from "../completion/completion-scripts.ts";
import { describeProgram } from "../completion/describe-program.ts";
import type { CommandContext } from "../options/command-context.ts";

const examples = `
Examples:
  source <(kindling completion bash)
  kindling completion bash > /etc/bash_completion.d/kindling
  kindling completion zsh > "\${fpath[1]}/_kindling"
  kindling completion fish > ~/.config/fish/completions/kindling.fish`;

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

export function configure(command: Command, { wholeProgram }: CommandContext): void {
  command
    .addArgument(new Argument("<shell>", "shell to complete commands in").choices(Object.keys(scripts)))
    .addHelpText("after", examples)
    .action(async (shell: keyof typeof scripts) => {
      process.stdout.write(scripts[shell](describeProgram(await wholeProgram())));
    });
}

import { Argument, type Command } from "commander";
import type { CommandContext } from "../command-context.ts";
import { bashScript } from "../completion/bash-script.ts";
import { describeProgram } from "../completion/describe-program.ts";
import { fishScript } from "../completion/fish-script.ts";
import { zshScript } from "../completion/zsh-script.ts";

const examples = `
Examples:
  source <(kindling completion bash)
  kindling completion bash > /etc/bash_completion.d/kindling
  kindling completion zsh > "\${fpath[1]}/_kindling"
  kindling completion fish > ~/.config/fish/completions/kindling.fish`;

const scripts = { bash: bashScript, zsh: zshScript, fish: fishScript };

export function configure(command: Command, { wholeProgram }: CommandContext): void {
  command
    .addArgument(new Argument("<shell>", "which shell").choices(Object.keys(scripts)))
    .addHelpText("after", examples)
    .action(async (shell: keyof typeof scripts) => {
      process.stdout.write(scripts[shell](describeProgram(await wholeProgram())));
    });
}

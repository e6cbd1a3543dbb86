import type { Argument, Command, Option } from "commander";

/** What can follow an option or stand as an argument. */
export type Values =
  | { readonly kind: "none" }
  | { readonly kind: "choices"; readonly choices: readonly string[] }
  | { readonly kind: "file" }
  | { readonly kind: "directory" }
  /** Something that only the user knows. */
  | { readonly kind: "any" };

export interface DescribedOption {
  /** `--output`, `-o` */
  readonly names: readonly string[];
  readonly description: string;
  readonly values: Values;
}

export interface DescribedCommand {
  /** `""` for the program itself, `runtime import` for one inside another. */
  readonly path: string;
  readonly description: string;
  readonly options: readonly DescribedOption[];
  readonly subcommands: readonly { readonly name: string; readonly description: string }[];
  /** Of its first argument. */
  readonly argument: Values;
}

/** The tree of commands, flat and without anything a shell could mistake. */
export function describeProgram(program: Command): readonly DescribedCommand[] {
  return walk(program, "");
}

function walk(command: Command, path: string): DescribedCommand[] {
  const help = command.createHelp();
  const subcommands = help.visibleCommands(command).filter((child) => child.name() !== "help" || path === "");
  const names = command.commands.map((child) => ({
    name: child.name(),
    description: oneLine(child.summary()),
  }));
  const isProgram = path === "";
  const described: DescribedCommand = {
    path,
    description: oneLine(command.description()),
    options: help.visibleOptions(command).map(describeOption),
    subcommands:
      isProgram && subcommands.some((child) => child.name() === "help") ? [...names, helpEntry] : names,
    argument: isProgram ? { kind: "none" } : describeArgument(command.registeredArguments[0]),
  };
  const children = command.commands.flatMap((child) => walk(child, `${path} ${child.name()}`.trim()));
  const helpCommand: DescribedCommand[] = isProgram
    ? [
        {
          path: "help",
          description: helpEntry.description,
          options: [],
          subcommands: [],
          argument: { kind: "choices", choices: names.map(({ name }) => name) },
        },
      ]
    : [];
  return [described, ...children, ...helpCommand];
}

const helpEntry = { name: "help", description: "show help of a command" };

function describeOption(option: Option): DescribedOption {
  const { long, short, description, argChoices, flags } = option;
  const takesValue = option.required || option.optional;
  return {
    names: [long, short].flatMap((name) => name ?? []),
    description: oneLine(description),
    values: takesValue ? valuesOf(flags, argChoices) : { kind: "none" },
  };
}

function describeArgument(argument: Argument | undefined): Values {
  return argument ? valuesOf(`<${argument.name()}>`, argument.argChoices) : { kind: "none" };
}

function valuesOf(flags: string, choices: readonly string[] | undefined): Values {
  if (choices) return { kind: "choices", choices };
  const name = /[<[]([^\]>]*)[\]>]/.exec(flags)?.[1] ?? "";
  if (/^file/i.test(name)) return { kind: "file" };
  if (/^dir/i.test(name)) return { kind: "directory" };
  return { kind: "any" };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

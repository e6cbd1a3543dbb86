import type { Argument, Command, Option } from "commander";

/** Values of an option or argument. */
export type Values =
  | { readonly kind: "none" }
  | { readonly kind: "choices"; readonly choices: readonly string[] }
  | { readonly kind: "file" }
  | { readonly kind: "directory" }
  /** Names of objects in the cluster, or of contexts in the kubeconfig. */
  | { readonly kind: "cluster"; readonly of: (typeof clusterNames)[number] }
  /** Values that cannot be completed. */
  | { readonly kind: "any" };

/** Names of options' values and of arguments that are completed from the cluster. */
const clusterNames = ["namespace", "context", "pod", "statefulset", "workload"] as const;

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
  /** Values of the first argument. */
  readonly argument: Values;
}

/** Flattens the tree of commands for the completion scripts. */
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

const helpEntry = { name: "help", description: "show the help of a command" };

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
  const of = clusterNames.find((each) => each === name);
  if (of) return { kind: "cluster", of };
  if (/^file/i.test(name)) return { kind: "file" };
  if (/^dir/i.test(name)) return { kind: "directory" };
  return { kind: "any" };
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

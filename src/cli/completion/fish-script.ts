import type { DescribedCommand, DescribedOption, Values } from "./describe-program.ts";

/** A completion for fish: a line for each thing that can be written. */
export function fishScript(commands: readonly DescribedCommand[]): string {
  const lines = commands.flatMap((command) => {
    const { path, options, subcommands, argument } = command;
    const when = `-n ${quote(condition(command))}`;
    return [
      ...subcommands.map(
        ({ name, description }) =>
          `complete -c kindling -f ${when} -a ${quote(name)} -d ${quote(description)}`,
      ),
      ...options.map((option) => `complete -c kindling ${when} ${optionWords(option)}`),
      ...(path !== "" && subcommands.length === 0
        ? [`complete -c kindling ${when} ${valueWords(argument)}`]
        : []),
    ];
  });
  return `# fish completion for kindling: kindling completion fish > ~/.config/fish/completions/kindling.fish
${lines.join("\n")}
`;
}

/** What has been typed when this command is the one that is completed. */
function condition({ path, subcommands }: DescribedCommand): string {
  const names = subcommands.map(({ name }) => name).join(" ");
  if (path === "") return "__fish_use_subcommand";
  const seen = path.split(" ").map((word) => `__fish_seen_subcommand_from ${word}`);
  return [...seen, ...(names ? [`not __fish_seen_subcommand_from ${names}`] : [])].join("; and ");
}

function optionWords({ names, description, values }: DescribedOption): string {
  const flags = names.map((name) => (name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`));
  const value = values.kind === "none" ? "" : ` -r ${valueWords(values)}`;
  return `${flags.join(" ")}${value} -d ${quote(description)}`;
}

function valueWords(values: Values): string {
  switch (values.kind) {
    case "choices":
      return `-f -a ${quote(values.choices.join(" "))}`;
    case "file":
      return "-F";
    case "directory":
      return "-f -a '(__fish_complete_directories)'";
    case "none":
    case "any":
      return "-f";
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

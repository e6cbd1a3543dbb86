import { quoteShell } from "../../lib/process/run-program.ts";
import type { DescribedCommand, DescribedOption, Values } from "./describe-program.ts";

/** Completion script for bash. Does not need the bash-completion package. */
export function bashScript(commands: readonly DescribedCommand[]): string {
  const paths = commands.map(({ path }) => path).filter(Boolean);
  return `# bash completion for kindling: source <(kindling completion bash)
_kindling() {
  local current=\${COMP_WORDS[COMP_CWORD]} previous= path= word i
  (( COMP_CWORD > 0 )) && previous=\${COMP_WORDS[COMP_CWORD-1]}
  # An option and a value that are joined by = come as three words.
  if [[ $current == "=" ]]; then
    current=
  elif [[ $previous == "=" ]] && (( COMP_CWORD > 1 )); then
    previous=\${COMP_WORDS[COMP_CWORD-2]}
  fi
  for (( i = 1; i < COMP_CWORD; i++ )); do
    word=\${COMP_WORDS[i]}
    case "\${path:+$path }$word" in
      ${paths.map(quoteShell).join("|")}) path="\${path:+$path }$word" ;;
    esac
  done
  COMPREPLY=()
  case "$path:$previous" in
${commands.flatMap(optionValues).join("\n")}
  esac
  case "$path" in
${commands.map(wordsOf).join("\n")}
  esac
}
complete -F _kindling kindling
`;
}

function optionValues({ path, options }: DescribedCommand): string[] {
  return options
    .filter(({ values }) => values.kind !== "none")
    .map(({ names, values }) => {
      const patterns = names.map((name) => quoteShell(`${path}:${name}`)).join("|");
      return `    ${patterns}) ${reply(values)}; return ;;`;
    });
}

function wordsOf({ path, options, subcommands, argument }: DescribedCommand): string {
  const names = options.flatMap((option) => option.names);
  const words = subcommands.map(({ name }) => name);
  const otherwise = words.length > 0 ? reply({ kind: "choices", choices: words }) : reply(argument);
  return `    ${quoteShell(path)})
      if [[ $current == -* ]]; then ${reply({ kind: "choices", choices: names })}
      else ${otherwise}; fi ;;`;
}

function reply(values: Values): string {
  switch (values.kind) {
    case "choices":
      return `COMPREPLY=( $(compgen -W ${quoteShell(values.choices.join(" "))} -- "$current") )`;
    case "file":
      return 'compopt -o filenames 2>/dev/null; COMPREPLY=( $(compgen -f -- "$current") )';
    case "directory":
      return 'compopt -o filenames 2>/dev/null; COMPREPLY=( $(compgen -d -- "$current") )';
    case "none":
    case "cluster":
    case "any":
      return ":";
  }
}

/** Completion script for fish, with one line for each completion. */
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

/** Condition under which this command is completed. */
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
    case "cluster":
    case "any":
      return "-f";
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;
}

/** Completion script for zsh, with one function for each command. */
export function zshScript(commands: readonly DescribedCommand[]): string {
  return `#compdef kindling
# zsh completion for kindling: put it into a directory of $fpath as _kindling
${commands.map(commandFunction).join("\n")}
if [[ $funcstack[1] == _kindling ]]; then _kindling "$@"; else compdef _kindling kindling; fi
`;
}

function commandFunction({ path, options, subcommands, argument }: DescribedCommand): string {
  const specs = options.map(optionSpec);
  if (subcommands.length === 0) {
    return `${functionName(path)}() {
  _arguments -s ${[...specs, ...argumentSpec(argument)].join(" \\\n    ") || ":"}
}`;
  }
  const described = subcommands.map(({ name, description }) =>
    quoteShell(`${escapeColons(name)}:${description}`),
  );
  const cases = subcommands.map(
    ({ name }) => `        ${name}) ${functionName(`${path} ${name}`.trim())} ;;`,
  );
  return `${functionName(path)}() {
  local context state state_descr line
  typeset -A opt_args
  _arguments -s -C ${[...specs, quoteShell("1: :->command"), quoteShell("*:: :->rest")].join(" \\\n    ")}
  case $state in
    command)
      local -a names=(${described.join(" ")})
      _describe command names ;;
    rest)
      case $line[1] in
${cases.join("\n")}
      esac ;;
  esac
}`;
}

function optionSpec({ names, description, values }: DescribedOption): string {
  const text = `[${escapeSpec(description)}]`;
  const action = values.kind === "none" ? "" : `:value:${actionOf(values)}`;
  const [first = "", ...others] = names;
  if (others.length === 0) return quoteShell(`${first}${text}${action}`);
  return `${quoteShell(`(${names.join(" ")})`)}{${names.join(",")}}${quoteShell(`${text}${action}`)}`;
}

function argumentSpec(values: Values): string[] {
  return values.kind === "none" ? [] : [quoteShell(`1:argument:${actionOf(values)}`)];
}

function actionOf(values: Values): string {
  switch (values.kind) {
    case "choices":
      return `(${values.choices.join(" ")})`;
    case "file":
      return "_files";
    case "directory":
      return "_files -/";
    case "none":
    case "cluster":
    case "any":
      return " ";
  }
}

function functionName(path: string): string {
  return ["_kindling", ...path.split(" ").filter(Boolean)].join("_").replaceAll("-", "_");
}

function escapeSpec(text: string): string {
  return escapeColons(text).replace(/[[\]]/g, "\\$&");
}

function escapeColons(text: string): string {
  return text.replaceAll(":", "\\:");
}

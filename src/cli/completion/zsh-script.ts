import { quoteShell } from "../../lib/quote-shell.ts";
import type { DescribedCommand, DescribedOption, Values } from "./describe-program.ts";

/** A completion for zsh, one function for each command. */
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

import { quoteShell } from "../../lib/quote-shell.ts";
import type { DescribedCommand, Values } from "./describe-program.ts";

/** A completion for bash, without bash-completion's own functions: those are not everywhere. */
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
    case "any":
      return ":";
  }
}

import { loadContextNames } from "../../client/kubeconfig/cluster-access.ts";
import { targetKinds } from "../run/parse-target.ts";
import { kubectlKubeconfig, openFlagClient } from "../run/user-access.ts";
import type { DescribedCommand, DescribedOption, Values } from "./describe-program.ts";

export interface Candidate {
  readonly word: string;
  readonly description?: string;
}

/** Options before the last word, by their long name: `--namespace`. */
type GivenOptions = Readonly<Record<string, string>>;

/** What can stand in place of the last word. */
export type Completion =
  | { readonly kind: "words"; readonly candidates: readonly Candidate[] }
  | { readonly kind: "file" }
  | { readonly kind: "directory" }
  /** Names from the cluster or the kubeconfig. */
  | {
      readonly kind: "cluster";
      readonly of: Extract<Values, { kind: "cluster" }>["of"];
      readonly text: string;
      readonly options: GivenOptions;
    };

const nothing: Completion = { kind: "words", candidates: [] };

/** Completes the last of the words after the program's name. It is empty for a new word. */
export function completeWords(commands: readonly DescribedCommand[], words: readonly string[]): Completion {
  const text = words.at(-1) ?? "";
  const { command, options, pending, argumentCount } = readWords(commands, words.slice(0, -1));
  if (pending) return completeValue(pending.values, { text, options });
  const [name = "", value] = splitOnce(text, "=");
  if (name.startsWith("--") && value !== undefined) {
    const option = command.options.find(({ names }) => names.includes(name));
    const completion = option ? completeValue(option.values, { text: value, options }) : nothing;
    if (completion.kind !== "words") return completion;
    return {
      kind: "words",
      candidates: completion.candidates.map(({ word, description }) => ({
        word: `${name}=${word}`,
        description,
      })),
    };
  }
  if (text.startsWith("-"))
    return choose(
      command.options.flatMap(({ names, description }) => names.map((word) => ({ word, description }))),
      text,
    );
  if (argumentCount > 0) return nothing;
  if (command.subcommands.length > 0)
    return choose(
      command.subcommands.map((child) => ({ word: child.name, description: child.description })),
      text,
    );
  return completeValue(command.argument, { text, options });
}

interface ReadWords {
  readonly command: DescribedCommand;
  readonly options: GivenOptions;
  /** Option that the next word is the value of. */
  readonly pending: DescribedOption | undefined;
  readonly argumentCount: number;
}

function readWords(commands: readonly DescribedCommand[], words: readonly string[]): ReadWords {
  let command = commandAt(commands, "");
  let pending: DescribedOption | undefined;
  let argumentCount = 0;
  const options: Record<string, string> = {};
  for (const word of words) {
    if (pending) {
      options[pending.names[0] ?? ""] = word;
      pending = undefined;
      continue;
    }
    if (word.startsWith("-")) {
      const [name = "", value] = splitOnce(word, "=");
      const option = command.options.find(({ names }) => names.includes(name));
      if (value !== undefined) options[option?.names[0] ?? name] = value;
      else if (option && option.values.kind !== "none") pending = option;
      continue;
    }
    const path = `${command.path} ${word}`.trim();
    const child = commands.find((each) => each.path === path);
    if (child) command = child;
    else argumentCount++;
  }
  return { command, options, pending, argumentCount };
}

function commandAt(commands: readonly DescribedCommand[], path: string): DescribedCommand {
  const none: DescribedCommand = {
    path,
    description: "",
    options: [],
    subcommands: [],
    argument: { kind: "none" },
  };
  return commands.find((command) => command.path === path) ?? none;
}

function completeValue(
  values: Values,
  { text, options }: { readonly text: string; readonly options: GivenOptions },
): Completion {
  switch (values.kind) {
    case "choices":
      return choose(
        values.choices.map((word) => ({ word })),
        text,
      );
    case "file":
    case "directory":
      return { kind: values.kind };
    case "cluster":
      return { kind: "cluster", of: values.of, text, options };
    case "none":
    case "any":
      return nothing;
  }
}

function choose(candidates: readonly Candidate[], text: string): Completion {
  return { kind: "words", candidates: candidates.filter(({ word }) => word.startsWith(text)) };
}

function splitOnce(text: string, separator: string): readonly [string, string?] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)];
}

type ClusterCompletion = Extract<Completion, { kind: "cluster" }>;

/** Time that the user waits for completions, which an unavailable cluster does not have. */
const timeoutMs = 3_000;
const maxNames = 500;

/** Lists names in the cluster or the kubeconfig that start with the text. None if they cannot be read. */
export async function listCandidates(completion: ClusterCompletion): Promise<readonly Candidate[]> {
  const words = await listWords(completion).catch(() => []);
  return words
    .filter((word) => word.startsWith(completion.text) && isPrintable(word))
    .map((word) => ({ word }));
}

async function listWords({ of, text, options }: ClusterCompletion): Promise<readonly string[]> {
  const flags = {
    namespace: options["--namespace"],
    kubeconfig: options["--kubeconfig"] ?? (process.env.KUBECONFIG || kubectlKubeconfig()),
    context: options["--context"],
    as: options["--as"],
  };
  if (of === "context") return loadContextNames(flags.kubeconfig);
  const { client, namespace } = await openFlagClient(flags, "kindling-completion");
  const signal = AbortSignal.timeout(timeoutMs);
  const list = async (
    resource: "namespaces" | (typeof targetKinds)[keyof typeof targetKinds]["resource"],
  ) => {
    const scope = resource === "namespaces" ? {} : { namespace };
    const { items } = await client.list(resource, { ...scope, limit: maxNames, signal });
    return items.map(({ metadata }) => metadata.name ?? "");
  };
  const withKind = async (kind: keyof typeof targetKinds, as: string) =>
    (await list(targetKinds[kind].resource)).map((name) => `${as}/${name}`);
  try {
    switch (of) {
      case "namespace":
        return await list("namespaces");
      case "statefulset":
        return await withKind("statefulset", "statefulset");
      case "workload":
        return [
          ...(await withKind("statefulset", "statefulset")),
          ...(await withKind("deployment", "deployment")),
        ];
      case "pod": {
        const [, kind] = /^(pod|statefulset|deployment|replicaset|daemonset|job|cronjob)\//.exec(text) ?? [];
        return kind ? await withKind(kind as keyof typeof targetKinds, kind) : await list("pods");
      }
    }
  } finally {
    client.close();
  }
}

/** Excludes names that a shell or a terminal would interpret. */
function isPrintable(word: string): boolean {
  return /^[\w./:@-]+$/.test(word);
}

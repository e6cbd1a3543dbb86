import { buildProgram } from "./commands.ts";
import { type Candidate, completeWords, listCandidates } from "./completion/complete-words.ts";
import { describeProgram } from "./completion/describe-program.ts";

/** Directives of Cobra, in the last line: complete files, nothing else, or directories. */
const directives = { file: 0, nothing: 4, directory: 16 } as const;

/** Completions of the last word, in the format that kubectl expects of `kubectl_complete-NAME`. */
export async function completeForKubectl(words: readonly string[]): Promise<string> {
  const [wanted] = words;
  const program = await buildProgram((name) => words.length > 1 && name === wanted, "kubectl kindling");
  const completion = completeWords(describeProgram(program), words);
  switch (completion.kind) {
    case "file":
    case "directory":
      return `:${directives[completion.kind]}\n`;
    case "words":
      return format(completion.candidates);
    case "cluster":
      return format(await listCandidates(completion));
  }
}

function format(candidates: readonly Candidate[]): string {
  const lines = candidates.map(({ word, description }) => (description ? `${word}\t${description}` : word));
  return [...lines, `:${directives.nothing}`, ""].join("\n");
}

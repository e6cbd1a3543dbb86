/** Error that was found while an expression was compiled. `offset` counts UTF-16 units; -1 has no position. */
export interface Issue {
  readonly offset: number;
  readonly message: string;
}

const maxIssues = 100;
const maxSnippetBytes = 16_384;

/** Formats issues as cel-go does: sorted by position, each with its line and a marker below the column. */
export function formatIssues(source: string, issues: readonly Issue[]): string {
  const shown = issues.slice(0, maxIssues).map((issue) => ({ ...locate(source, issue.offset), ...issue }));
  shown.sort((a, b) => a.line - b.line || a.column - b.column);
  const texts = shown.map(({ line, column, text, message }) => {
    const head = `ERROR: <input>:${line}:${column + 1}: ${message}`;
    return text === undefined || Buffer.byteLength(text) > maxSnippetBytes ? head : head + mark(text, column);
  });
  if (issues.length > maxIssues) texts.push(`${issues.length - maxIssues} more errors were truncated`);
  return texts.join("\n");
}

function locate(source: string, offset: number): { line: number; column: number; text?: string } {
  if (offset < 0) return { line: -1, column: -1 };
  const start = source.lastIndexOf("\n", offset - 1) + 1;
  const end = source.indexOf("\n", start);
  let line = 1;
  for (let at = source.indexOf("\n"); at >= 0 && at < start; at = source.indexOf("\n", at + 1)) line++;
  const column = [...source.slice(start, offset)].length;
  return { line, column, text: source.slice(start, end < 0 ? undefined : end) };
}

/** The line and the marker below it. Characters of several bytes are marked with wide characters. */
function mark(line: string, column: number): string {
  const text = line.replaceAll("\t", " ");
  const characters = [...text];
  const isWide = (character: string | undefined) =>
    character !== undefined && Buffer.byteLength(character) > 1;
  const dots = characters.slice(0, column).map((character) => (isWide(character) ? "．" : "."));
  return `\n | ${text}\n | ${dots.join("")}${isWide(characters[column]) ? "＾" : "^"}`;
}

/**
 * Reads one variable from a file of `NAME='value'` lines. Values are in single quotes, without expansion, and may span
 * lines. Undefined if the file does not have the variable. Throws if the file is malformed.
 */
export function parseEnvFile(text: string, key: string): string | undefined {
  let at = 0;
  let line = 0;
  while (at < text.length) {
    line++;
    const end = lineEnd(text, at);
    const content = text.slice(at, end).replace(/^[ \t]+/, "");
    const start = end - content.length;
    at = end + 1;
    if (content.trimEnd() === "" || content.startsWith("#")) continue;

    const equals = content.indexOf("=");
    const name = content.slice(0, Math.max(equals, 0));
    if (equals < 0) throw malformed(line, "missing '='");
    if (name.trim() === "") throw malformed(line, "empty variable name");
    if (/[ \t]$/.test(name)) throw malformed(line, "whitespace before '=' is not allowed");

    const open = start + equals + 1;
    // As in a shell, a value that is separated from the equals sign by a space is empty.
    if (/[ \t]/.test(text[open] ?? "")) {
      if (name === key) return "";
      continue;
    }
    if (text[open] !== "'") throw malformed(line, "value must be enclosed in single quotes");
    const close = text.indexOf("'", open + 1);
    if (close < 0) {
      throw new Error(`invalid environment variable format starting at line ${line}: unclosed single quote`);
    }
    const value = text.slice(open + 1, close).replaceAll("\r\n", "\n");
    line += value.split("\n").length - 1;
    const rest = text.slice(close + 1, lineEnd(text, close)).trim();
    if (rest !== "" && !rest.startsWith("#")) throw malformed(line, "unexpected content after closing quote");
    if (name === key) return value;
    at = lineEnd(text, close) + 1;
  }
  return undefined;
}

function lineEnd(text: string, from: number): number {
  const end = text.indexOf("\n", from);
  return end < 0 ? text.length : end;
}

function malformed(line: number, what: string): Error {
  return new Error(`invalid environment variable format at line ${line}: ${what}`);
}

import type { Issue } from "./issues.ts";

/** Token of an expression. The kind of operators, brackets and keywords is their text. */
export interface Token {
  readonly kind: string;
  readonly text: string;
  readonly offset: number;
}

const operators2 = new Set(["==", "!=", "<=", ">=", "&&", "||"]);
const operators1 = new Set("<>[]{}().,-!?:+*/%");
const keywords = new Set(["in", "true", "false", "null"]);

const identifier = /[A-Za-z_][A-Za-z0-9_]*/y;
const escapedIdentifier = /`[A-Za-z0-9_.\-/ ]+`/y;
const space = /[\t \r\n\f]+|\/\/[^\n]*/y;
const numbers: readonly [string, RegExp][] = [
  ["NUM_FLOAT", /\d+\.\d+(?:[eE][+-]?\d+)?|\d+[eE][+-]?\d+|\.\d+(?:[eE][+-]?\d+)?/y],
  ["NUM_UINT", /(?:0x[0-9a-fA-F]+|\d+)[uU]/y],
  ["NUM_INT", /0x[0-9a-fA-F]+|\d+/y],
];

/** Splits an expression into tokens, the last of which is `<EOF>`. Unknown characters are reported and skipped. */
export function tokenize(source: string): {
  readonly tokens: readonly Token[];
  readonly issues: readonly Issue[];
} {
  const tokens: Token[] = [];
  const issues: Issue[] = [];
  let at = 0;
  while (at < source.length) {
    const gap = match(space, source, at);
    if (gap) {
      at += gap.length;
      continue;
    }
    const next = readToken(source, at);
    if ("unknown" in next) {
      const text = source.slice(at, at + next.unknown);
      issues.push({ offset: at, message: `Syntax error: token recognition error at: '${escapeText(text)}'` });
      at += next.unknown;
    } else {
      tokens.push({ ...next, offset: at });
      at += next.text.length;
    }
  }
  tokens.push({ kind: "<EOF>", text: "<EOF>", offset: source.length });
  return { tokens, issues };
}

/** Text as ANTLR shows it in messages. */
export function escapeText(text: string): string {
  return text.replaceAll("\n", "\\n").replaceAll("\r", "\\r").replaceAll("\t", "\\t");
}

function match(pattern: RegExp, source: string, at: number): string | undefined {
  pattern.lastIndex = at;
  return pattern.exec(source)?.[0];
}

function readToken(source: string, at: number): { kind: string; text: string } | { unknown: number } {
  const text = readString(source, at);
  if (text) return text;
  const name = match(identifier, source, at);
  if (name) return { kind: keywords.has(name) ? name : "IDENTIFIER", text: name };
  let number: { kind: string; text: string } | undefined;
  for (const [kind, pattern] of numbers) {
    const found = match(pattern, source, at);
    if (found && found.length > (number?.text.length ?? 0)) number = { kind, text: found };
  }
  if (number) return number;
  const escaped = match(escapedIdentifier, source, at);
  if (escaped) return { kind: "ESC_IDENTIFIER", text: escaped };
  const two = source.slice(at, at + 2);
  if (operators2.has(two)) return { kind: two, text: two };
  const one = source.charAt(at);
  if (operators1.has(one)) return { kind: one, text: one };
  // ANTLR includes the character at which a token that began well fails.
  if (one === "&" || one === "|" || one === "=") return { unknown: Math.min(2, source.length - at) };
  return { unknown: (source.codePointAt(at) ?? 0) > 0xffff ? 2 : 1 };
}

const prefix = /[bB]?[rR]?/y;
const escapeSequence =
  /\\(?:[abfnrtv"'\\?`]|[0-3][0-7][0-7]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8})/y;

/** Reads a string or bytes literal. Undefined where none begins; `unknown` where one does not end. */
function readString(
  source: string,
  start: number,
): { kind: string; text: string } | { unknown: number } | undefined {
  const head = match(prefix, source, start) ?? "";
  const quote = source.charAt(start + head.length);
  if (quote !== '"' && quote !== "'") return undefined;
  const isRaw = /[rR]/.test(head);
  const open = start + head.length;
  const isLong = source.startsWith(quote.repeat(3), open);
  const close = isLong ? quote.repeat(3) : quote;
  let at = open + close.length;
  while (at < source.length) {
    if (source.startsWith(close, at))
      return { kind: /[bB]/.test(head) ? "BYTES" : "STRING", text: source.slice(start, at + close.length) };
    const character = source.charAt(at);
    if (!isLong && (character === "\n" || character === "\r")) break;
    if (character === "\\" && !isRaw) {
      const sequence = match(escapeSequence, source, at);
      if (!sequence) return { unknown: Math.min(at + 2, source.length) - start };
      at += sequence.length;
    } else at++;
  }
  // As ANTLR, a prefix that begins no string is an identifier, and two quotes of a long string are an empty string.
  if (head) return undefined;
  if (isLong) return { kind: "STRING", text: quote.repeat(2) };
  return { unknown: Math.min(at + (at < source.length ? 1 : 0), source.length) - start };
}

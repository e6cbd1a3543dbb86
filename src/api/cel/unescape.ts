/** Value of a string literal with its quotes. The message of an error is that of cel-go. */
export function unescapeString(literal: string): { readonly value: string } | { readonly error: string } {
  const { body, isRaw } = bodyOf(literal);
  if (isRaw || !body.includes("\\")) return { value: body };
  let value = "";
  for (let at = 0; at < body.length; ) {
    const found = readCharacter(body, at);
    if ("error" in found) return found;
    if (found.code > 0x10ffff || (found.code >= 0xd800 && found.code <= 0xdfff && found.isEscape))
      return { error: "invalid unicode code point" };
    value += found.isEscape ? String.fromCodePoint(found.code) : body.charAt(at);
    at += found.length;
  }
  return { value };
}

/** Value of a bytes literal without its `b`. Text is encoded in UTF-8; `\x` and octal escapes are bytes. */
export function unescapeBytes(literal: string): { readonly value: Uint8Array } | { readonly error: string } {
  const { body, isRaw } = bodyOf(literal);
  if (isRaw || !body.includes("\\")) return { value: new TextEncoder().encode(body) };
  const bytes: number[] = [];
  let text = "";
  const flush = () => {
    for (const byte of new TextEncoder().encode(text)) bytes.push(byte);
    text = "";
  };
  for (let at = 0; at < body.length; ) {
    const found = readCharacter(body, at);
    if ("error" in found) return found;
    if (found.isUnicode) return { error: "unable to unescape string" };
    if (found.isEscape) {
      flush();
      bytes.push(found.code);
    } else text += body.charAt(at);
    at += found.length;
  }
  flush();
  return { value: Uint8Array.from(bytes) };
}

function bodyOf(literal: string): { body: string; isRaw: boolean } {
  const text = literal.replace(/\r\n?/g, "\n");
  const isRaw = /^[rR]/.test(text);
  const quoted = isRaw ? text.slice(1) : text;
  const quotes = quoted.length >= 6 && /^("""|''')/.test(quoted) ? 3 : 1;
  return { body: quoted.slice(quotes, -quotes), isRaw };
}

const simple: Readonly<Record<string, number>> = {
  a: 7,
  b: 8,
  f: 12,
  n: 10,
  r: 13,
  t: 9,
  v: 11,
  "\\": 92,
  "'": 39,
  '"': 34,
  "`": 96,
  "?": 63,
};
const hexLengths: Readonly<Record<string, number>> = { x: 2, X: 2, u: 4, U: 8 };

type Character = { code: number; length: number; isEscape: boolean; isUnicode: boolean };

function readCharacter(body: string, at: number): Character | { error: string } {
  if (body.charAt(at) !== "\\")
    return { code: body.charCodeAt(at), length: 1, isEscape: false, isUnicode: false };
  const kind = body.charAt(at + 1);
  const code = simple[kind];
  if (code !== undefined) return { code, length: 2, isEscape: true, isUnicode: false };
  const digits = hexLengths[kind];
  if (digits !== undefined) {
    const hex = body.slice(at + 2, at + 2 + digits);
    if (!/^[0-9a-fA-F]+$/.test(hex) || hex.length < digits) return { error: "unable to unescape string" };
    const isUnicode = kind === "u" || kind === "U";
    return { code: Number.parseInt(hex, 16), length: 2 + digits, isEscape: true, isUnicode };
  }
  const octal = body.slice(at + 1, at + 4);
  if (/^[0-3][0-7]{2}$/.test(octal))
    return { code: Number.parseInt(octal, 8), length: 4, isEscape: true, isUnicode: false };
  return {
    error: /^[0-3]/.test(octal) ? "unable to unescape octal sequence in string" : "unable to unescape string",
  };
}

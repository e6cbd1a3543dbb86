const escapes: Readonly<Record<string, string>> = {
  "\u0007": "\\a",
  "\b": "\\b",
  "\f": "\\f",
  "\n": "\\n",
  "\r": "\\r",
  "\t": "\\t",
  "\v": "\\v",
  '"': '\\"',
  "\\": "\\\\",
};

const printable = /^[\p{L}\p{M}\p{N}\p{P}\p{S} ]$/u;

/** A text in double quotes as Go writes it: labels and annotations in files of the downward API. */
export function quoteGo(text: string): string {
  let quoted = "";
  for (const character of text) quoted += escapes[character] ?? escapeUnprintable(character);
  return `"${quoted}"`;
}

function escapeUnprintable(character: string): string {
  const code = character.codePointAt(0) ?? 0;
  // Half of a surrogate pair is no character: Go has the replacement character there.
  if (code >= 0xd800 && code <= 0xdfff) return "\ufffd";
  if (printable.test(character)) return character;
  if (code < 0x80) return `\\x${hex(code, 2)}`;
  return code < 0x10000 ? `\\u${hex(code, 4)}` : `\\U${hex(code, 8)}`;
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, "0");
}

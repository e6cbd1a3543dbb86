/** How V8's messages begin, and how Go ends its own: `invalid character 'x' looking for beginning of value`. */
const places: readonly (readonly [start: string, place: string])[] = [
  ["Expected property name", "looking for beginning of object key string"],
  ["Expected double-quoted property name", "looking for beginning of object key string"],
  ["Expected ':' after", "after object key"],
  ["Expected ',' or '}'", "after object key:value pair"],
  ["Expected ',' or ']'", "after array element"],
  ["Unexpected non-whitespace", "after top-level value"],
  ["Bad control character", "in string literal"],
  ["Bad escaped character", "in string escape code"],
];

/** What Go would say of a text that JSON.parse stumbled over. */
export function goSyntaxError(error: SyntaxError, text: string): string {
  const { message } = error;
  const position = /position (\d+)/.exec(message)?.[1];
  const token = /^Unexpected token '(.+?)',/su.exec(message)?.[1];
  const character = token ?? (position === undefined ? undefined : text.charAt(Number(position)));
  if (!character || message.startsWith("Unterminated")) return "unexpected end of JSON input";
  const place = places.find(([start]) => message.startsWith(start))?.[1] ?? "looking for beginning of value";
  return `invalid character '${character}' ${place}`;
}

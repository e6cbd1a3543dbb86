const quote = 0x22;
const backslash = 0x5c;
const comma = 0x2c;
const openBracket = 0x5b;
const closeBracket = 0x5d;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/** Where the value that begins at `start` ends, in JSON that is known to be valid and has no spaces. */
export function endOfJsonValue(json: string, start: number): number {
  let depth = 0;
  for (let at = start; at < json.length; at++) {
    switch (json.charCodeAt(at)) {
      case quote:
        at = endOfString(json, at);
        if (depth === 0) return at + 1;
        break;
      case openBrace:
      case openBracket:
        depth++;
        break;
      case closeBrace:
      case closeBracket:
        depth--;
        if (depth === 0) return at + 1;
        // The value was a number or a word, and what it is in ends here.
        if (depth < 0) return at;
        break;
      case comma:
        if (depth === 0) return at;
        break;
    }
  }
  return json.length;
}

/** The closing quote of the string that opens at `start`: the first that no odd number of backslashes stands before. */
function endOfString(json: string, start: number): number {
  let end = json.indexOf('"', start + 1);
  while (end !== -1) {
    let before = end - 1;
    while (json.charCodeAt(before) === backslash) before--;
    if ((end - before) % 2 === 1) return end;
    end = json.indexOf('"', end + 1);
  }
  return json.length;
}

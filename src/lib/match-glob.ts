type Token =
  | { readonly kind: "any" }
  | { readonly kind: "one" }
  | { readonly kind: "literal"; readonly character: string }
  | {
      readonly kind: "class";
      readonly negated: boolean;
      readonly ranges: readonly (readonly [string, string])[];
    };

/**
 * Matches like Go's filepath.Match, except that `*` and `?` also match slashes: `*`, `?`, `[a-z]`, `[^a-z]`, and `\` as
 * escape. A malformed pattern matches nothing. Takes time proportional to the product of the lengths, because patterns
 * are user input.
 */
export function matchGlob(pattern: string, text: string): boolean {
  const tokens = tokenize(pattern);
  if (!tokens) return false;
  let at = 0;
  let next = 0;
  // Position of the last `*`, and the end of the text that it matches.
  let star = -1;
  let taken = 0;
  while (at < text.length) {
    const token = tokens[next];
    if (token?.kind === "any") {
      star = next++;
      taken = at;
    } else if (token && matchesOne(token, text[at] ?? "")) {
      next++;
      at++;
    } else if (star >= 0) {
      next = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  return tokens.slice(next).every(({ kind }) => kind === "any");
}

function matchesOne(token: Token, character: string): boolean {
  switch (token.kind) {
    case "any":
      return false;
    case "one":
      return true;
    case "literal":
      return token.character === character;
    case "class":
      return token.ranges.some(([low, high]) => low <= character && character <= high) !== token.negated;
  }
}

const parts = /\*+|\?|\[(\^?)((?:(?:\\.|[^\\\]-])(?:-(?:\\.|[^\\\]-]))?)+)\]|\\(.)|([^\\[*?])/sy;
const range = /(\\.|[^\\-])(?:-(\\.|[^\\-]))?/gs;

function tokenize(pattern: string): Token[] | undefined {
  const tokens: Token[] = [];
  parts.lastIndex = 0;
  while (parts.lastIndex < pattern.length) {
    const part = parts.exec(pattern);
    if (!part) return undefined;
    const [text, negation, members, escaped, character] = part;
    if (members !== undefined) {
      const ranges = [...members.matchAll(range)].map(
        ([, low = "", high = low]) => [low.slice(-1), high.slice(-1)] as const,
      );
      tokens.push({ kind: "class", negated: negation === "^", ranges });
    } else if (escaped !== undefined || character !== undefined) {
      tokens.push({ kind: "literal", character: escaped ?? character ?? "" });
    } else {
      tokens.push({ kind: text === "?" ? "one" : "any" });
    }
  }
  return tokens;
}

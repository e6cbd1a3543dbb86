/** `*` stands for any characters, `?` for one. Linear enough for hostile patterns: no regular expression is made. */
export function matchesGlob(pattern: string, text: string): boolean {
  let p = 0;
  let t = 0;
  /** Where to go on when what followed the last star does not fit: one character later. */
  let star = -1;
  let starText = 0;
  while (t < text.length) {
    if (pattern[p] === "*") {
      star = p++;
      starText = t;
    } else if (p < pattern.length && (pattern[p] === "?" || pattern[p] === text[t])) {
      p++;
      t++;
    } else if (star >= 0) {
      p = star + 1;
      t = ++starText;
    } else return false;
  }
  while (pattern[p] === "*") p++;
  return p === pattern.length;
}

export interface Fix {
  readonly advice: string;
  readonly command: string | undefined;
}

/**
 * Takes what `kindling why` advises apart: words first, then at times a command. The command is going to be pasted into
 * a shell, and parts of it come from pods: it stays one line, without characters that hide or turn round others.
 */
export function splitFix(fix: string): Fix {
  const at = fix.search(/\b(kubectl|kindling) [a-z]/);
  if (at < 0) return { advice: fix, command: undefined };
  const advice = fix.slice(0, at).replace(/[\s:]+$/, "");
  const lines = fix.slice(at).split(/[\p{C}\p{Zl}\p{Zp}]/u);
  const command = lines
    .map((line) => line.trim())
    .filter(Boolean)
    .join(" ");
  return { advice, command };
}

import type { RE2JS } from "re2js";

/** Matcher of one pattern of a schema. */
interface Pattern {
  test(text: string): boolean;
}

let engine: typeof RE2JS | undefined;

/** Loads the engine. Patterns can be compiled after this resolves. Loaded on first use: it takes tens of milliseconds. */
export async function loadPatternEngine(): Promise<void> {
  engine ??= (await import("re2js")).RE2JS;
}

/** Compiled patterns. Schemas repeat the same few patterns. */
const compiled = new Map<string, Pattern>();
const maxCompiled = 1_000;

/**
 * Compiles a pattern in the syntax of RE2, which upstream uses. Matching takes linear time, so that neither a pattern nor a
 * value can block the server. Throws PatternSyntaxError.
 */
export function compilePattern(source: string): Pattern {
  const known = compiled.get(source);
  if (known) return known;
  if (!engine) throw new Error("the pattern engine is not loaded");
  let pattern: Pattern;
  try {
    pattern = engine.compile(source);
  } catch (error) {
    throw new PatternSyntaxError(error instanceof Error ? error.message : String(error));
  }
  if (compiled.size >= maxCompiled) compiled.clear();
  compiled.set(source, pattern);
  return pattern;
}

/** The pattern is not valid RE2 syntax. The message is that of Go. */
export class PatternSyntaxError extends Error {}

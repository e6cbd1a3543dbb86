import { RE2JS } from "re2js";

/** Compiled patterns: rules match the same few patterns. */
const compiled = new Map<string, RE2JS | string>();
const maxCompiled = 500;

/** Compiles a pattern in RE2 syntax, which is matched in linear time. Returns the error if it is invalid. */
export function compileRegex(pattern: string): RE2JS | string {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  let regex: RE2JS | string;
  try {
    regex = RE2JS.compile(pattern);
  } catch (error) {
    regex = error instanceof Error ? error.message : String(error);
  }
  if (compiled.size >= maxCompiled) compiled.clear();
  compiled.set(pattern, regex);
  return regex;
}

import { DecodeError } from "./decode-error.ts";

/** No object of the API comes near it, and recursion down to it is safe. */
const maxDepth = 500;

/** Throws DecodeError for JSON that is nested deeper than it is safe to work on by recursion. */
export function assertDepth(value: unknown): void {
  let level: unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxDepth) throw new DecodeError("exceeded max depth");
    const next: unknown[] = [];
    for (const item of level) {
      if (typeof item !== "object" || item === null) continue;
      for (const child of Object.values(item)) if (typeof child === "object") next.push(child);
    }
    level = next;
  }
}

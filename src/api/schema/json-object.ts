import { DecodeError } from "./decode-error.ts";

/** Object from JSON.parse. Its keys are untrusted: read them with `Object.hasOwn` and set them with `define`. */
export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Sets a key. Assigning __proto__ would change the prototype of the object instead. */
export function define(object: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

/** Maximum depth of JSON: far more than API objects have, and safe for recursion. */
export const maxDepth = 500;

/** Throws DecodeError for JSON that is nested too deeply for recursion. */
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

/** An object as JSON.parse gives it. Its keys come from outside: ask `Object.hasOwn`, and define, do not assign. */
export type JsonObject = Record<string, unknown>;

export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Sets a key; plain assignment would let one named __proto__ change the object's prototype. */
export function define(object: JsonObject, key: string, value: unknown): void {
  Object.defineProperty(object, key, { value, writable: true, enumerable: true, configurable: true });
}

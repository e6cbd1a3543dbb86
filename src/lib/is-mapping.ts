/** Reports whether a value parsed from JSON or YAML is an object. Use `Object.hasOwn` for keys from user input. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

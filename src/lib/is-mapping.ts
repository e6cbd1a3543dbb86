/** Whether what was parsed from JSON or YAML has fields. Whose keys come from outside: ask `Object.hasOwn`. */
export function isMapping(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

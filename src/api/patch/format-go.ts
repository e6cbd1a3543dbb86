import { isJsonObject } from "../schema/json-object.ts";

/** JSON as Go prints it with `%v`: `map[name:web ports:[80 81]]`. Upstream quotes patches so in messages. */
export function formatGo(value: unknown): string {
  if (value === null) return "<nil>";
  if (Array.isArray(value)) return `[${value.map(formatGo).join(" ")}]`;
  if (!isJsonObject(value)) return String(value);
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  return `map[${entries.map(([key, child]) => `${key}:${formatGo(child)}`).join(" ")}]`;
}

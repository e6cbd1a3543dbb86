import type { Format } from "./negotiate.ts";
import { toYaml } from "./to-yaml.ts";

/** Writes a value in the format that was negotiated. */
export async function encode(value: unknown, options: { format: Format; pretty?: boolean }): Promise<string> {
  if (options.format === "yaml") return toYaml(value);
  // Upstream ends compact JSON with a newline, and indented JSON with none.
  return options.pretty ? JSON.stringify(value, undefined, 2) : `${JSON.stringify(value)}\n`;
}

const trueWords = new Set(["1", "t", "T", "true", "TRUE", "True"]);

/** Indented JSON for people: on `?pretty=true`, and for curl, wget and browsers when they do not say. */
export function wantsPretty(request: { pretty?: string | null; userAgent?: string }): boolean {
  if (request.pretty) return trueWords.has(request.pretty);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(request.userAgent ?? "");
}

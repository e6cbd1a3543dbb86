import type { Format } from "./negotiate.ts";

/** Writes a value in the format that was negotiated. */
export async function encode(value: unknown, options: { format: Format; pretty?: boolean }): Promise<string> {
  if (options.format === "yaml") return encodeYaml(value);
  // Upstream ends compact JSON with a newline, and indented JSON with none.
  return options.pretty ? JSON.stringify(value, undefined, 2) : `${JSON.stringify(value)}\n`;
}

async function encodeYaml(value: unknown): Promise<string> {
  // Few clients ask for YAML: the library is loaded for the first of them.
  const { stringify } = await import("yaml");
  // Upstream sorts keys and quotes what YAML 1.1 would read as something else (`on`, `yes`, 0o17).
  return stringify(value, {
    sortMapEntries: true,
    lineWidth: 0,
    version: "1.1",
    aliasDuplicateObjects: false,
  });
}

const trueWords = new Set(["1", "t", "T", "true", "TRUE", "True"]);

/** Indented JSON for people: on `?pretty=true`, and for curl, wget and browsers when they do not say. */
export function wantsPretty(request: { pretty?: string | null; userAgent?: string }): boolean {
  if (request.pretty) return trueWords.has(request.pretty);
  return /^(curl|Wget|Mozilla\/5\.0)/.test(request.userAgent ?? "");
}

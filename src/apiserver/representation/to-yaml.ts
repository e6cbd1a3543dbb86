/**
 * JSON values as YAML, with sorted keys, as upstream writes it. It is read the same by parsers of YAML 1.1 and 1.2:
 * what either could take for something else (`on`, `0o17`, a date) is quoted. A library that can write everything
 * takes seconds for a list of some thousand objects, and nothing else runs meanwhile.
 */
export function toYaml(value: unknown): string {
  const lines: string[] = [];
  writeNode(lines, { lead: "", indent: "", value });
  return `${lines.join("\n")}\n`;
}

interface Place {
  /** What is already on the line: indentation, `- `, `key:`. */
  readonly lead: string;
  /** For the lines that follow, when the value takes several. */
  readonly indent: string;
  readonly value: unknown;
}

function writeNode(lines: string[], { lead, indent, value }: Place): void {
  if (Array.isArray(value) && value.length > 0) writeList(lines, { lead, indent, value });
  else if (isObject(value) && Object.keys(value).length > 0) writeMap(lines, { lead, indent, value });
  else lines.push(join(lead, scalar(value, indent)));
}

function writeList(lines: string[], { lead, indent, value }: Place & { value: readonly unknown[] }): void {
  let start = lead;
  if (lead.endsWith(":")) {
    lines.push(lead);
    start = indent;
  }
  for (const item of value) {
    writeNode(lines, { lead: `${start}- `, indent: `${indent}  `, value: item ?? null });
    start = indent;
  }
}

function writeMap(lines: string[], { lead, indent, value }: Place & { value: object }): void {
  let start = lead;
  let inner = indent;
  if (lead.endsWith(":")) {
    lines.push(lead);
    inner = `${indent}  `;
    start = inner;
  }
  for (const key of Object.keys(value).sort()) {
    const entry = (value as Record<string, unknown>)[key];
    if (entry === undefined) continue;
    writeNode(lines, { lead: `${start}${quote(key)}:`, indent: inner, value: entry });
    start = inner;
  }
}

function join(lead: string, text: string): string {
  return lead.endsWith(":") ? `${lead} ${text}` : lead + text;
}

function scalar(value: unknown, indent: string): string {
  if (Array.isArray(value)) return "[]";
  if (isObject(value)) return "{}";
  if (typeof value !== "string") return JSON.stringify(value) ?? "null";
  return isBlock(value) ? block(value, `${indent}  `) : quote(value);
}

/** Several lines that need no escapes. */
function isBlock(text: string): boolean {
  return (
    /^[\x21-\x7e\xa1-\ud7ff][\t\n\x20-\x7e\xa0-\ud7ff]*$/.test(text) &&
    text.includes("\n") &&
    !/[\u2028\u2029]/.test(text)
  );
}

function block(text: string, indent: string): string {
  const chomping = text.endsWith("\n\n") ? "+" : text.endsWith("\n") ? "" : "-";
  const body = text.replace(/\n$/, "").replaceAll(/^(?=.)/gm, indent);
  return `|${chomping}\n${body}`;
}

const plain =
  /^(?:[A-Za-z/][\w./@+-]*|[0-9]+(?:\.[0-9]+){2,})(?::[\w./@+-]+)*(?: [\w./@+-]+(?::[\w./@+-]+)*)*$/;
const ambiguous = /^(?:y|n|yes|no|on|off|true|false|null)$/i;

function quote(text: string): string {
  return plain.test(text) && !ambiguous.test(text) ? text : JSON.stringify(text);
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
